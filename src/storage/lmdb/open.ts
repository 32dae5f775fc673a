import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Database, open, type RootDatabase } from 'lmdb';
import { ServiceError } from '../../errors.ts';
import { commitWritesMax, scanChunkBytes } from '../../limits.ts';
import type { Chunks, Engine, Refusal, ScanOptions, Space, Write } from '../engine.ts';
import { type Item, itemText } from '../item-text.ts';
import { GroupCommit } from './group-commit.ts';

/**
 * The embedded engine: LMDB in a folder of its own, one entry per item.
 *
 * `overlappingSync: false` makes a commit visible only after its flush: with the library's default a reader could
 * see what a power cut then takes back.
 *
 * @param folder made if it is missing; one service at a time may have it open
 */
export function openLmdbEngine(folder: string): Engine {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const root = open({
    path: join(folder, 'store.mdb'),
    overlappingSync: false,
    keyEncoding: 'binary',
    encoding: 'binary',
    maxDbs: 2,
  });
  return new LmdbEngine(root);
}

type Bytes = Database<Buffer, Buffer>;

/** What marks a space as made; the value says nothing yet. */
const made = Buffer.from('{}');
const separator = 0x00;
const afterSeparator = 0x01;
const comma = 0x2c;

class LmdbEngine implements Engine {
  readonly #root: RootDatabase;
  readonly #spaces: Bytes;
  readonly #items: Bytes;
  readonly #commits = new GroupCommit<readonly Write[], Refusal | undefined>((batch) => this.#flush(batch));

  constructor(root: RootDatabase) {
    this.#root = root;
    this.#spaces = root.openDB({ name: 'spaces', keyEncoding: 'binary', encoding: 'binary' });
    this.#items = root.openDB({ name: 'items', keyEncoding: 'binary', encoding: 'binary' });
  }

  async get(space: Space, id: string): Promise<string | undefined> {
    return this.#read(itemKey(space, id));
  }

  async scan(space: Space, options: ScanOptions = {}): Promise<Chunks | undefined> {
    if (!this.#hasSpace(space)) return undefined;
    return this.#chunks(space, options);
  }

  async commit(writes: readonly Write[]): Promise<Refusal | undefined> {
    if (writes.length === 0 || writes.length > commitWritesMax) {
      throw new RangeError(`a commit takes 1 to ${commitWritesMax} writes`);
    }
    return this.#commits.add(writes);
  }

  async close(): Promise<void> {
    await this.#commits.drain();
    await this.#root.close();
  }

  *#chunks(space: Space, { after, limit }: ScanOptions): Generator<Buffer> {
    const transaction = this.#items.useReadTransaction();
    try {
      const range = this.#items.getRange({
        start: after === undefined ? spaceKey(space, separator) : itemKey(space, after),
        exclusiveStart: after !== undefined,
        end: spaceKey(space, afterSeparator),
        transaction,
        ...(limit === undefined ? {} : { limit }),
      });
      yield* joined(range);
    } finally {
      transaction.done();
    }
  }

  async #flush(batch: readonly (readonly Write[])[]): Promise<readonly (Refusal | undefined)[]> {
    try {
      return await this.#root.transaction(() => batch.map((writes) => this.#apply(writes)));
    } catch (error) {
      throw new ServiceError('unavailable', { detail: 'the store could not commit', cause: error });
    }
  }

  /** Inside the write transaction: all conditions first, so that a refused commit has changed nothing. */
  #apply(writes: readonly Write[]): Refusal | undefined {
    for (const [index, write] of writes.entries()) {
      const reason = this.#refusal(write);
      if (reason !== undefined) return { write: index, reason };
    }
    for (const write of writes) this.#carryOut(write);
    return undefined;
  }

  #refusal(write: Write): Refusal['reason'] | undefined {
    const key = itemKey(write.space, write.id);
    if (write.kind === 'create') {
      if (this.#items.getBinaryFast(key) !== undefined) return 'exists';
      return write.makeSpace || this.#hasSpace(write.space) ? undefined : 'space_missing';
    }
    if (write.ifValue === undefined)
      return this.#items.getBinaryFast(key) === undefined ? 'missing' : undefined;
    const value = this.#read(key);
    if (value === undefined) return 'missing';
    return value === write.ifValue ? undefined : 'differs';
  }

  #carryOut(write: Write): void {
    const key = itemKey(write.space, write.id);
    if (write.kind === 'delete') {
      this.#items.remove(key);
      return;
    }
    if (write.kind === 'create' && !this.#hasSpace(write.space))
      this.#spaces.put(Buffer.from(write.space), made);
    this.#items.put(key, Buffer.from(itemText(write.id, write.value)));
  }

  #read(key: Buffer): string | undefined {
    const bytes = this.#items.getBinaryFast(key);
    return bytes === undefined ? undefined : (JSON.parse(bytes.toString()) as Item).name;
  }

  #hasSpace(space: Space): boolean {
    return this.#spaces.getBinaryFast(Buffer.from(space)) !== undefined;
  }
}

/** Entries as runs of about `scanChunkBytes`, their values joined by commas. */
function* joined(entries: Iterable<{ value: Buffer }>): Generator<Buffer> {
  let parts: Buffer[] = [];
  let bytes = 0;
  for (const { value } of entries) {
    parts.push(value);
    bytes += value.length + 1;
    if (bytes >= scanChunkBytes) {
      yield joinByComma(parts, bytes - 1);
      parts = [];
      bytes = 0;
    }
  }
  if (parts.length > 0) yield joinByComma(parts, bytes - 1);
}

function joinByComma(parts: readonly Buffer[], bytes: number): Buffer {
  const chunk = Buffer.allocUnsafe(bytes);
  let at = 0;
  for (const part of parts) {
    if (at > 0) chunk[at++] = comma;
    at += part.copy(chunk, at);
  }
  return chunk;
}

/** A space's name holds no zero byte, so no key of one space sorts among those of another. */
function itemKey(space: Space, id: string): Buffer {
  return Buffer.from(`${space}\0${id}`);
}

function spaceKey(space: Space, end: number): Buffer {
  return Buffer.concat([Buffer.from(space), Buffer.of(end)]);
}
