import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { NamedEngine } from '../../../src/storage/copying/copy.ts';
import { initDynamo, openDynamoEngine } from '../../../src/storage/dynamodb/open.ts';
import type { Engine, Rejection, Space, Write } from '../../../src/storage/engine.ts';
import { itemsOf } from '../../../src/storage/item-text.ts';
import { openLmdbEngine } from '../../../src/storage/lmdb/open.ts';
import { dynamoEndpoint, dynamoRegion, newPrefix } from '../dynamodb/stores.ts';
import { pick, type Random } from '../random.ts';
import { newDataFolder } from '../service.ts';

export type Kind = 'LMDB' | 'DynamoDB';

/** An empty store, open until the test ends. */
export async function newStore(t: TestContext, kind: Kind): Promise<NamedEngine> {
  const opened = kind === 'LMDB' ? openNewFolder(t) : await openNewTables();
  t.after(() => opened.engine.close());
  return opened;
}

function openNewFolder(t: TestContext): NamedEngine {
  const folder = newDataFolder(t);
  mkdirSync(join(folder, '..'), { recursive: true });
  return { name: `lmdb:${folder}`, engine: openLmdbEngine(folder) };
}

async function openNewTables(): Promise<NamedEngine> {
  const tablePrefix = newPrefix();
  const settings = { endpoint: await dynamoEndpoint(), region: dynamoRegion, tablePrefix, declared: [] };
  await initDynamo(settings);
  return { name: `dynamodb ${tablePrefix}`, engine: await openDynamoEngine(settings) };
}

/** By space and id. */
export type Content = Record<string, Record<string, string>>;

export async function fill({ engine }: NamedEngine, content: Content): Promise<void> {
  for (const [space, items] of Object.entries(content)) {
    const writes = Object.entries(items).map(
      ([id, value]): Write => ({ kind: 'create', space: space as Space, id, value, makeSpace: true }),
    );
    for (let from = 0; from < writes.length; ) {
      // Large items are written one by one, because the size of a transaction is bounded.
      const count = writes.slice(from, from + 100).some((write) => sizeOf(write) > 30_000) ? 1 : 100;
      await engine.commit(writes.slice(from, from + count));
      from += count;
    }
  }
}

function sizeOf(write: Write): number {
  return 'value' in write ? write.value.length : 0;
}

/** All items of the store in the order of their ids, including the marker of an unfinished copy. */
export async function contentOf({ engine }: NamedEngine): Promise<Content> {
  const content: Content = {};
  for (const space of [...(await engine.spaces())].sort()) {
    const scan = await engine.scan(space);
    const items = await Array.fromAsync(itemsOf(scan?.chunks ?? []));
    if (items.length > 0)
      content[space] = Object.fromEntries(
        items.map(({ id, name }): [string, string] => [id, name]).sort(([a], [b]) => (a < b ? -1 : 1)),
      );
  }
  return content;
}

/** `count` items of a space, with ids from `from` on. */
export function items(count: number, value = 'value', from = 0): Record<string, string> {
  return Object.fromEntries(
    Array.from({ length: count }, (_, n) => [`id-${String(from + n).padStart(5, '0')}`, `${value} ${n}`]),
  );
}

/** The same engine with another `commit`. */
export function committing(engine: Engine, commit: Engine['commit']): Engine {
  return {
    reads: engine.reads,
    get: (space, id) => engine.get(space, id),
    spaces: () => engine.spaces(),
    describe: (space) => engine.describe(space),
    count: (space) => engine.count(space),
    removeSpace: (space) => engine.removeSpace(space),
    scan: (space, options) => engine.scan(space, options),
    commit,
    checkWritable: () => engine.checkWritable(),
    close: () => engine.close(),
  };
}

export class Killed extends Error {}

/**
 * An engine whose process is killed after a number of commits. Concurrent commits are made in random order, so that
 * each of them may or may not be made before the kill.
 */
export class MortalEngine {
  readonly engine: Engine;
  /** The writes that were made, also by earlier engines with the same array. */
  readonly written: Write[];
  readonly #random: Random;
  readonly #waiting: (() => Promise<void>)[] = [];
  #left: number;
  #isPumping = false;

  constructor(inner: Engine, commits: number, random: Random, written: Write[] = []) {
    this.#left = commits;
    this.#random = random;
    this.written = written;
    this.engine = {
      reads: inner.reads,
      get: (space, id) => this.#alive(() => inner.get(space, id)),
      spaces: () => this.#alive(() => inner.spaces()),
      describe: (space) => this.#alive(() => inner.describe(space)),
      count: (space) => this.#alive(() => inner.count(space)),
      removeSpace: (space) => this.#alive(() => inner.removeSpace(space)),
      scan: (space, options) => this.#alive(() => inner.scan(space, options)),
      commit: (writes) => this.#commit(inner, writes),
      checkWritable: () => this.#alive(() => inner.checkWritable()),
      close: () => inner.close(),
    };
  }

  get isDead(): boolean {
    return this.#left <= 0;
  }

  async #alive<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.isDead) throw new Killed();
    return work();
  }

  #commit(inner: Engine, writes: readonly Write[]): Promise<Rejection | undefined> {
    const result = Promise.withResolvers<Rejection | undefined>();
    this.#waiting.push(async () => {
      if (this.isDead) return result.reject(new Killed());
      const rejection = await inner.commit(writes);
      // Only commits that were made count, neither rejected ones nor the check for a possible table.
      if (rejection !== undefined) return result.resolve(rejection);
      this.written.push(...writes);
      if (--this.#left <= 0) result.reject(new Killed());
      else result.resolve(rejection);
    });
    if (!this.#isPumping) void this.#pump();
    return result.promise;
  }

  async #pump(): Promise<void> {
    this.#isPumping = true;
    while (this.#waiting.length > 0) {
      // Lets more commits arrive, from which one is picked.
      await new Promise((resolve) => setTimeout(resolve, 1));
      const next = pick(this.#random, this.#waiting);
      this.#waiting.splice(this.#waiting.indexOf(next), 1);
      await next();
    }
    this.#isPumping = false;
  }
}
