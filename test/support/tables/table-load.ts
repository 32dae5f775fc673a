import { setTimeout as sleep } from 'node:timers/promises';
import { Caller, type Outcome } from '../caller.ts';
import { between, pick, type Random, shuffled } from '../random.ts';
import {
  type Item,
  type ItemWrite,
  itemIn,
  itemsIn,
  itemsInPart,
  readTable,
  resultOf,
  writeTable,
} from './table-operations.ts';
import { type Operation, Witness } from './witness.ts';

export interface WatchedTable {
  readonly name: string;
  readonly ids: readonly string[];
  readonly witness: Witness;
}

export function watchedTable(name: string, items: number): WatchedTable {
  const ids = Array.from({ length: items }, (_, index) => `${name}-${index}`);
  return { name, ids, witness: new Witness(ids) };
}

export interface Load {
  readonly origin: string;
  readonly tables: readonly WatchedTable[];
  /** Callers per table; the items are divided among them. */
  readonly callers: number;
  readonly random: Random;
  /** When it resolves, no further request is sent. */
  readonly until: Promise<unknown>;
  /** The pause between two reads of a table. Reads take CPU time from the writers in this process. */
  readonly readPauseMs?: number;
}

export interface LoadResult {
  acknowledged: number;
  rejected: number;
  /** The number of 5xx responses, by status. */
  readonly failed: Map<number, number>;
  lost: number;
  read: number;
}

const batchItemsMax = 8;
const batchShare = 0.2;
/** After a refused connection: the service has ended, or a worker is being replaced. */
const reconnectMs = 10;

/** Writes and reads the tables as fast as possible, and passes the responses to their witnesses. */
export async function load({
  origin,
  tables,
  callers,
  random,
  until,
  readPauseMs = 20,
}: Load): Promise<LoadResult> {
  const result: LoadResult = { acknowledged: 0, rejected: 0, failed: new Map(), lost: 0, read: 0 };
  const run: Run = { random, result, readPauseMs, isOver: false };
  const over = until.finally(() => {
    run.isOver = true;
  });
  const loops = tables.flatMap((table) => [
    ...Array.from({ length: callers }, (_, first) => {
      const ids = table.ids.filter((_id, index) => index % callers === first);
      return during(run, origin, (caller) => writeOnce(run, caller, table, ids));
    }),
    during(run, origin, (caller) => readOnce(run, caller, table)),
    during(run, origin, (caller) => peekOnce(run, caller, table)),
  ]);
  const ends = await Promise.allSettled([over, ...loops]);
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
  return result;
}

/** Reads a table after a restart and compares it with its witness. @returns the number of items */
export async function verifyTable(origin: string, { name, witness }: WatchedTable): Promise<number> {
  const caller = new Caller(origin);
  try {
    const items = itemsFound(await readTable(caller, name), name);
    witness.verify(items);
    return items.length;
  } finally {
    caller.close();
  }
}

interface Run {
  readonly random: Random;
  readonly result: LoadResult;
  readonly readPauseMs: number;
  isOver: boolean;
}

async function during(run: Run, origin: string, act: (caller: Caller) => Promise<boolean>): Promise<void> {
  const caller = new Caller(origin);
  try {
    while (!run.isOver && (await act(caller))) {
      // Each caller waits for the response before it sends the next request.
    }
  } catch (error) {
    run.isOver = true;
    throw error;
  } finally {
    caller.close();
  }
}

/** @returns whether the caller has more to do */
async function writeOnce(
  run: Run,
  caller: Caller,
  table: WatchedTable,
  ids: readonly string[],
): Promise<boolean> {
  const free = shuffled(run.random, table.witness.settled(ids));
  const isBatch = run.random() < batchShare;
  const chosen = free.slice(0, isBatch ? between(run.random, 2, batchItemsMax) : 1);
  if (chosen.length === 0) return false;
  const operation = table.witness.propose(chosen, run.random);
  const outcome = await writeTable(caller, table.name, operation.writes);
  settle(run.result, table.witness, operation, outcome);
  if (outcome.kind === 'not sent') await sleep(reconnectMs);
  return true;
}

/** Records the outcome of an operation. Throws on an unexpected response. */
export function settle(result: LoadResult, witness: Witness, operation: Operation, outcome: Outcome): void {
  if (outcome.kind === 'lost') result.lost++;
  if (outcome.kind === 'not sent') witness.reject(operation);
  if (outcome.kind !== 'responded') return;
  const { status, text } = outcome;
  const writeResult = resultOf(operation.writes, outcome);
  if (writeResult === 'failed' && status >= 503) {
    result.failed.set(status, (result.failed.get(status) ?? 0) + 1);
    // 507 means that nothing was written; after any other failure the write may have happened.
    if (status === 507) witness.reject(operation);
    return;
  }
  if (writeResult !== operation.expected)
    throw new Error(`${describeWrites(operation.writes)} returned ${status}: ${text.slice(0, 300)}`);
  if (writeResult === 'rejected') {
    result.rejected++;
    return;
  }
  result.acknowledged++;
  witness.acknowledge(operation);
}

async function readOnce(run: Run, caller: Caller, { name, witness }: WatchedTable): Promise<boolean> {
  const horizon = witness.beginRead();
  const outcome = await readTable(caller, name);
  if (outcome.kind === 'lost') witness.endRead(horizon, itemsInPart(outcome.text), false);
  if (outcome.kind === 'responded' && outcome.status < 500) {
    witness.endRead(horizon, itemsFound(outcome, name), true);
    run.result.read++;
  }
  await sleep(run.readPauseMs);
  return true;
}

/** Reads an item that is being written: a value that a reader has seen must not disappear, even if unacknowledged. */
async function peekOnce(run: Run, caller: Caller, { name, witness }: WatchedTable): Promise<boolean> {
  const { pending } = witness;
  if (pending.length === 0) {
    await sleep(1);
    return true;
  }
  const id = pick(run.random, pending);
  const horizon = witness.beginRead();
  const outcome = await readTable(caller, name, id);
  if (outcome.kind === 'not sent') await sleep(reconnectMs);
  if (outcome.kind !== 'responded' || outcome.status >= 500) return true;
  witness.endReadOf(id, horizon, outcome.status === 404 ? undefined : itemIn(outcome.text).name);
  run.result.read++;
  return true;
}

/** A table does not exist until an item is created in it. */
function itemsFound(outcome: Outcome, name: string): Item[] {
  if (outcome.kind !== 'responded') throw new Error(`${name} could not be read: ${outcome.kind}`);
  if (outcome.status === 404) return [];
  return itemsIn(outcome.text);
}

function describeWrites(writes: readonly ItemWrite[]): string {
  return writes.map(({ kind, id }) => `${kind} of "${id}"`).join(', ');
}
