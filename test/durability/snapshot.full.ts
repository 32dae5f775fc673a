import assert from 'node:assert/strict';
import { get, type IncomingMessage } from 'node:http';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { busyMachineMs } from '../support/busy-machine.ts';
import { Caller } from '../support/caller.ts';
import { count, workers } from '../support/extent.ts';
import { randomFrom, seedOf, shuffled } from '../support/random.ts';
import { newData, ServeProcess } from '../support/serve-process.ts';
import { itemsIn, resultOf, tablePath, writeTable } from '../support/tables/table-operations.ts';

/**
 * A read of a whole table shows one committed state of it, however long it takes (promise 10). Each writer updates
 * items of its own in turn, one acknowledged write after the other, so that one number determines the names of all its
 * items. A state of the table is one number per writer, and the committed states are totally ordered.
 */
const table = 'counters';
const items = 20_000;
const writers = 6;
const itemsPerWriter = 300;
const readingMs = count({ short: 1_500, long: 300_000 });
/** The pause of each reader after every 64 KiB: hundreds of writes happen during the slow responses of 12 MB. */
const readers = [8, 8, 4, 0];
/** The pause between two reads, in which the writers get CPU time. */
const betweenReadsMs = 250;
const creatorsAtOnce = 4;
const batchItems = 100;

test('shows each reader of a big table one committed state while it is written', (t) => drill(t, 1));

test('shows each reader of a big table one committed state while several processes write it', (t) =>
  drill(t, workers));

async function drill(t: TestContext, processes: number): Promise<void> {
  const random = randomFrom(seedOf(t));
  const ids = Array.from({ length: items }, (_, index) => `item-${String(index).padStart(6, '0')}`);
  const service = await ServeProcess.start(t, { data: newData(t), workers: processes });
  const origin = await service.ready();
  await createAll(origin, ids);

  const written = shuffled(random, ids);
  const counting = Array.from(
    { length: writers },
    () => new CountingWriter(table, written.splice(0, itemsPerWriter)),
  );
  const over = sleep(readingMs);
  let isOver = false;
  const writing = counting.map((writer) => writer.keepWriting(origin, () => isOver));
  const seen: (readonly number[])[] = [];
  const reading = readers.map(async (pauseMs) => {
    while (!isOver) {
      seen.push(await readState({ origin, pauseMs, counting, unwritten: written }));
      await sleep(betweenReadsMs);
    }
  });
  void over.then(() => {
    isOver = true;
  });
  const ends = await Promise.allSettled([...reading, ...writing]);
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
  assertChain(seen);
  const writes = counting.reduce((sum, { acknowledged }) => sum + acknowledged, 0);
  t.diagnostic(`${seen.length} reads during ${writes} writes`);
  await service.kill();
}

async function createAll(origin: string, ids: readonly string[]): Promise<void> {
  const left = [...ids];
  const create = async () => {
    const caller = new Caller(origin);
    while (left.length > 0) {
      const some = left.splice(0, batchItems);
      const writes = some.map((id) => ({ kind: 'create', id, name: nameAs(0) }) as const);
      const response = await writeTable(caller, table, writes);
      assert.ok(response.kind === 'responded' && resultOf(writes, response) === 'done');
    }
    caller.close();
  };
  await Promise.all(Array.from({ length: creatorsAtOnce }, create));
}

interface Reading {
  readonly origin: string;
  readonly pauseMs: number;
  readonly counting: readonly CountingWriter[];
  /** The ids that no writer updates. */
  readonly unwritten: readonly string[];
}

/** @returns the state that a read has shown: the number of the last write of each writer */
async function readState({ origin, pauseMs, counting, unwritten }: Reading): Promise<readonly number[]> {
  const before = counting.map(({ acknowledged }) => acknowledged);
  const text = await readSlowly(origin, pauseMs);
  const after = counting.map(({ sent }) => sent);
  const names = new Map(itemsIn(text).map(({ id, name }) => [id, name]));
  assert.equal(names.size, items);
  for (const id of unwritten) assert.equal(names.get(id), nameAs(0));
  return counting.map((writer, index) => {
    const shown = writer.shownIn(names);
    assert.ok(
      shown >= (before[index] as number),
      `${shown} was shown after ${before[index]} was acknowledged`,
    );
    assert.ok(shown <= (after[index] as number), `${shown} was shown before it was sent`);
    return shown;
  });
}

async function readSlowly(origin: string, pauseMs: number): Promise<string> {
  const response = await beginRead(origin);
  const chunks: Buffer[] = [];
  let owed = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    owed += (chunk.length / 65_536) * pauseMs;
    if (owed < 1) continue;
    await sleep(owed);
    owed = 0;
  }
  return Buffer.concat(chunks).toString();
}

/** Retries a read that the service on a busy machine sheds. */
async function beginRead(origin: string): Promise<IncomingMessage> {
  const giveUpAt = performance.now() + busyMachineMs;
  for (;;) {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      get(origin + tablePath(table, 'read'), { agent: false }, resolve).on('error', reject);
    });
    if (response.statusCode !== 503 || performance.now() > giveUpAt) return response;
    response.resume();
    await sleep(betweenReadsMs);
  }
}

/** Asserts that of any two states, one is at least as new as the other for every writer. */
function assertChain(states: readonly (readonly number[])[]): void {
  const sum = (state: readonly number[]) => state.reduce((total, number) => total + number, 0);
  const sorted = states.toSorted((one, other) => sum(one) - sum(other));
  for (const [index, state] of sorted.entries()) {
    const next = sorted[index + 1] ?? state;
    assert.ok(
      state.every((number, writer) => number <= (next[writer] as number)),
      `one read shows the writers at ${state.join(', ')}, another at ${next.join(', ')}`,
    );
  }
}

/** A name with a number; so long that a table of tens of thousands of items is sent in many chunks. */
function nameAs(number: number): string {
  return `${number}:${'.'.repeat(560)}`;
}

/** Updates its items in turn, round after round: write number n gives the next item the name of n. */
class CountingWriter {
  readonly #table: string;
  readonly #ids: readonly string[];
  /** The number of the last write that was sent. */
  sent = 0;
  /** The number of the last write that was acknowledged. */
  acknowledged = 0;

  constructor(table: string, ids: readonly string[]) {
    this.#table = table;
    this.#ids = ids;
  }

  async keepWriting(origin: string, isOver: () => boolean): Promise<void> {
    const caller = new Caller(origin);
    while (!isOver()) {
      this.sent++;
      const id = this.#ids[(this.sent - 1) % this.#ids.length] as string;
      const write = { kind: 'update', id, name: nameAs(this.sent) } as const;
      const response = await writeTable(caller, this.#table, [write]);
      assert.ok(response.kind === 'responded' && response.status === 200, 'an update returns 200');
      this.acknowledged = this.sent;
    }
    caller.close();
  }

  /** The number of the last write in the state with these names. Throws when they are from several states. */
  shownIn(names: ReadonlyMap<string, string>): number {
    const numbers = this.#ids.map((id) => Number.parseInt(names.get(id) ?? '', 10));
    const last = Math.max(...numbers);
    for (const [index, id] of this.#ids.entries()) {
      assert.equal(names.get(id), nameAs(this.#numberAt(index, last)), `${id} as of write ${last}`);
    }
    return last;
  }

  /** The number of the last write to an item, up to and including `last`; 0 if there was none. */
  #numberAt(index: number, last: number): number {
    const behind = (((last - 1 - index) % this.#ids.length) + this.#ids.length) % this.#ids.length;
    return Math.max(0, last - behind);
  }
}
