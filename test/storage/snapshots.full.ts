import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { ServiceError } from '../../src/errors.ts';
import type { Chunks, Engine, ScanOptions, Space, Write } from '../../src/storage/engine.ts';
import type { Item } from '../../src/storage/item-text.ts';
import { commitWritesMax } from '../../src/storage/limits.ts';
import { openLmdbEngine } from '../../src/storage/lmdb/open.ts';
import { openStore } from '../../src/storage/lmdb/store.ts';
import { count } from '../support/extent.ts';
import { between, pick, type Random, randomFrom, seedOf, shuffled } from '../support/random.ts';
import { newDataFolder } from '../support/service.ts';
import { untilAtRest } from '../support/storage/rest.ts';
import { SpaceModel } from '../support/storage/space-model.ts';

const space: Space = 'table:read';
const other: Space = 'table:other';
const items = 3_000;
const valueAt = (number: number) => `${number}`.padEnd(150, '.');
const idOf = (index: number) => `item-${String(index).padStart(5, '0')}`;

/** Opens an engine with two spaces of several chunks. */
async function openFilled(t: TestContext): Promise<{ engine: Engine; file: string }> {
  const folder = newDataFolder(t);
  const engine = openLmdbEngine(folder);
  t.after(() => engine.close());
  for (const each of [space, other]) {
    for (let first = 0; first < items; first += commitWritesMax)
      await engine.commit(initialWrites(each, first));
  }
  return { engine, file: join(folder, 'store.mdb') };
}

function initialWrites(each: Space, first: number): Write[] {
  return Array.from({ length: commitWritesMax }, (_, n) => ({
    kind: 'create',
    space: each,
    id: idOf(first + n),
    value: each === space ? valueAt(0) : 'OTHER '.repeat(20),
    makeSpace: true,
  }));
}

const replace = (id: string, value: string): Write => ({ kind: 'replace', space, id, value });

function iteratorOf(chunks: Chunks | undefined): Iterator<Buffer> {
  return (chunks as Iterable<Buffer>)[Symbol.iterator]();
}

test('holds the snapshot of a scan until it is read to its end or closed, even before it began', async (t) => {
  const { engine, file } = await openFilled(t);
  const store = openStore(file);
  t.after(() => store.close());
  const { root } = store as unknown as { root: { readerList(): string } };
  const snapshotsHeld = () => root.readerList().match(/ \d+$/gm)?.length ?? 0;
  const endings: Readonly<Record<string, (chunks: Iterator<Buffer>) => unknown>> = {
    'closed before it began': (chunks) => chunks.return?.(),
    'closed in the middle': (chunks) => [chunks.next(), chunks.return?.()],
    'closed twice': (chunks) => [chunks.return?.(), chunks.return?.()],
    'read to its end': (chunks) => {
      while (!chunks.next().done);
    },
  };
  for (const [title, end] of Object.entries(endings)) {
    for (const options of [{}, { after: idOf(7) }, { limit: 1_000 }]) {
      const chunks = iteratorOf((await engine.scan(space, options))?.chunks);
      // By then the library has released unused snapshots.
      await sleep(5);
      assert.equal(snapshotsHeld(), 1, `${title}: held before`);
      end(chunks);
      await sleep(5);
      assert.equal(snapshotsHeld(), 0, title);
      assert.equal(chunks.next().done, true, `${title}: there are no more chunks`);
    }
  }
});

test('grows the file while a scan is open, and not after it is closed', async (t) => {
  const random = randomFrom(seedOf(t));
  const { engine, file } = await openFilled(t);
  const grownBy = async (eachTime: () => unknown) => {
    const before = statSync(file).size;
    for (let n = 0; n < 80; n++) {
      const ids = shuffled(
        random,
        Array.from({ length: items }, (_, index) => idOf(index)),
      ).slice(0, 20);
      await engine.commit(ids.map((id) => replace(id, valueAt(n).repeat(30))));
      await eachTime();
    }
    return statSync(file).size - before;
  };
  await untilAtRest(file);
  // Until the file has room for the longest journal.
  for (let times = 0; times < 10 && (await grownBy(() => undefined)) > 0; times++);
  const grownWhileClosed = await grownBy(async () =>
    iteratorOf((await engine.scan(space))?.chunks).return?.(),
  );
  const held = iteratorOf((await engine.scan(space))?.chunks);
  const grownWhileOpen = await grownBy(() => undefined);
  held.return?.();
  const summary = `grown by ${grownWhileClosed} bytes with closed scans, by ${grownWhileOpen} with an open one`;
  t.diagnostic(summary);
  assert.ok(grownWhileOpen > 4 * grownWhileClosed, summary);
});

test('returns the right items although other reads happen between the chunks of a scan', async (t) => {
  const { engine, file } = await openFilled(t);
  const model = new SpaceModel();
  for (let first = 0; first < items; first += commitWritesMax) model.commit(initialWrites(space, first));
  // First from the journal, then from the leaves.
  for (const wait of [() => undefined, () => untilAtRest(file)]) {
    await wait();
    const first = iteratorOf((await engine.scan(space))?.chunks);
    const second = iteratorOf((await engine.scan(other))?.chunks);
    const read: string[] = [];
    for (let chunk = first.next(); !chunk.done; chunk = first.next()) {
      read.push(chunk.value.toString());
      second.next();
      await engine.get(other, idOf(between(Math.random, 0, items - 1)));
      await turn();
      await engine.get(other, idOf(between(Math.random, 0, items - 1)));
    }
    second.return?.();
    assert.ok(read.length > 3);
    assert.ok(
      read.join('') === model.text(space).toString(),
      'the scan did not return the items of its space',
    );
  }
});

interface Read {
  readonly options: ScanOptions;
  readonly text: string;
}

test('shows one state in a long scan during writes and compactions', async (t) => {
  const random = randomFrom(seedOf(t));
  const { engine, file } = await openFilled(t);
  await untilAtRest(file);
  const commits: Write[][] = [];
  const reads: Read[] = [];
  const model = new SpaceModel();
  for (let first = 0; first < items; first += commitWritesMax) model.commit(initialWrites(space, first));
  const until = performance.now() + count({ short: 2_000, long: 120_000 });
  const isOver = () => performance.now() > until;
  const write = async () => {
    while (!isOver()) {
      // A few at once, so that they share flushes.
      const some = Array.from({ length: between(random, 1, 4) }, () => {
        const writes = nextWrites(random, model, commits.length + 1);
        assert.equal(model.commit(writes), undefined);
        commits.push(writes);
        return engine.commit(writes);
      });
      for (const rejection of await Promise.all(some)) assert.equal(rejection, undefined);
    }
  };
  const read = async () => {
    while (!isOver()) {
      reads.push(await readSlowly(random, engine));
      await sleep(between(random, 0, 40));
    }
  };
  await Promise.all([write(), read(), read(), read(), read()]);
  t.diagnostic(`${reads.length} reads during ${commits.length} commits`);
  assertStates(reads, commits);
});

/** Each commit writes its number into the first item, and replaces, deletes and creates others. */
function nextWrites(random: Random, model: SpaceModel, number: number): Write[] {
  const ids = new Set(Array.from({ length: 60 }, () => idOf(between(random, 1, items + 500))));
  return [idOf(0), ...ids].map((id): Write => {
    const isThere = model.get(space, id) !== undefined;
    if (isThere && id !== idOf(0) && random() < 0.2) return { kind: 'delete', space, id };
    const value = valueAt(number);
    return isThere ? replace(id, value) : { kind: 'create', space, id, value, makeSpace: false };
  });
}

async function readSlowly(random: Random, engine: Engine): Promise<Read> {
  const options = pick<ScanOptions>(random, [{}, {}, { limit: between(random, 1_500, items) }]);
  const scan = await engine.scan(space, options);
  const chunks: string[] = [];
  // The snapshot is from the time of the call, not of the first chunk.
  await sleep(between(random, 0, 30));
  for await (const chunk of scan?.chunks ?? []) {
    // Copied before the next chunk is requested, because all chunks may share one buffer.
    chunks.push(chunk.toString());
    await sleep(between(random, 0, 15));
    await engine.get(other, idOf(between(random, 0, items - 1)));
  }
  return { options, text: chunks.join('') };
}

function assertStates(reads: readonly Read[], commits: readonly (readonly Write[])[]): void {
  const stateOf = ({ text }: Read) => Number.parseInt((JSON.parse(`[${text}]`) as Item[])[0]?.name ?? '', 10);
  const byState = Map.groupBy(reads, stateOf);
  assert.ok(byState.size > 5, `only ${byState.size} states were seen`);
  const model = new SpaceModel();
  for (let first = 0; first < items; first += commitWritesMax) model.commit(initialWrites(space, first));
  for (let state = 0; state <= commits.length; state++) {
    if (state > 0) model.commit(commits[state - 1] as Write[]);
    for (const { options, text } of byState.get(state) ?? []) {
      assert.ok(text === model.text(space, options).toString(), `a read differs from state ${state}`);
    }
    byState.delete(state);
  }
  assert.deepEqual([...byState.keys()], [], 'states that never existed');
}

test('returns the right items with many open scans, or rejects reads as overloaded', async (t) => {
  const { engine } = await openFilled(t);
  const held: { readonly chunks: Iterator<Buffer>; readonly expected: number }[] = [];
  const unlessOverloaded = async <Result>(read: () => Promise<Result>): Promise<Result | undefined> =>
    read().catch((error: unknown) => {
      assert.ok(error instanceof ServiceError && error.code === 'overloaded', String(error));
      return undefined;
    });
  for (let number = 1; number <= 200; number++) {
    await engine.commit([replace(idOf(0), valueAt(number))]);
    const scan = await unlessOverloaded(() => engine.scan(space));
    if (scan !== undefined) held.push({ chunks: iteratorOf(scan.chunks), expected: number });
    const value: string | undefined = await unlessOverloaded(() => engine.get(space, idOf(0)));
    assert.ok(value === undefined || value === valueAt(number));
  }
  for (const { chunks, expected } of held) {
    const first = chunks.next().value as Buffer;
    assert.ok(first.toString().includes(`"${valueAt(expected)}"`), `state ${expected}`);
    chunks.return?.();
  }
  assert.equal(
    await engine.get(space, idOf(0)),
    valueAt(200),
    'reads succeed again after the scans are closed',
  );
});
