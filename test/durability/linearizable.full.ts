import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Caller } from '../support/caller.ts';
import {
  type Operation,
  type Outcome,
  type Violation,
  violationIn,
} from '../support/durability/linearizability.ts';
import { count, workers } from '../support/extent.ts';
import { between, pick, type Random, randomFrom, seedOf, shuffled } from '../support/random.ts';
import { newData, ServeProcess } from '../support/serve-process.ts';
import {
  type Item,
  type ItemWrite,
  itemIn,
  itemsIn,
  readTable,
  resultOf,
  writeTable,
} from '../support/tables/table-operations.ts';

/** Concurrent callers of a few items, with kills in between: their histories are linearizable (promise 10). */
const rounds = count({ short: 2, long: 1_000 });
const roundsWithWorkers = count({ short: 2, long: 1_000 });
/** The starts of the service for one table, so that a history includes kills. */
const livesPerRound = 2;
const lifeMsMin = 50;
const lifeMsMax = 400;
const callers = 8;
const ids = ['a', 'b', 'c', 'd', 'e'];

test('returns only linearizable histories, despite kills of the process', (t) =>
  drill(t, { rounds, processes: 1 }));

test('returns only linearizable histories, despite kills of workers and of all processes', (t) =>
  drill(t, { rounds: roundsWithWorkers, processes: workers }));

async function drill(t: TestContext, options: { rounds: number; processes: number }): Promise<void> {
  const random = randomFrom(seedOf(t));
  const data = newData(t);
  const totals = { operations: 0, unknown: 0 };
  for (let round = 1; round <= options.rounds; round++) {
    const history = new RecordedHistory(`round-${round}`, ids, random);
    for (let life = 1; life <= livesPerRound; life++) {
      const service = await ServeProcess.start(t, { data, workers: options.processes });
      await live(service, history, { random, killsWorker: options.processes > 1 });
    }
    const last = await ServeProcess.start(t, { data, workers: options.processes });
    await readOnce(await last.ready(), history);
    await last.kill();
    totals.operations += history.operations.length;
    totals.unknown += history.unknown;
    if (options.processes === 1) assert.equal(history.failures, 0, 'a request fails only by a kill');
    const violation = violationIn(history.operations);
    if (violation !== undefined) assert.fail(`round ${round}: ${explain(violation, history.operations)}`);
  }
  t.diagnostic(`${totals.operations} operations in ${options.rounds} rounds, ${totals.unknown} unknown`);
  assert.ok(totals.unknown > 0, 'no kill interrupted a write');
}

/** One life of the service, from its first request to its kill. */
async function live(
  service: ServeProcess,
  history: RecordedHistory,
  { random, killsWorker }: { random: Random; killsWorker: boolean },
): Promise<void> {
  const origin = await service.ready();
  let isOver = false;
  const calling = Promise.allSettled(
    Array.from({ length: callers }, (_, caller) =>
      history.keepCalling(`caller ${caller}`, origin, () => isOver),
    ),
  );
  if (killsWorker) {
    await sleep(between(random, lifeMsMin, lifeMsMax));
    process.kill(pick(random, service.workerPids), 'SIGKILL');
  }
  await sleep(between(random, lifeMsMin, lifeMsMax));
  await service.kill();
  isOver = true;
  for (const end of await calling) if (end.status === 'rejected') throw end.reason;
  history.ended();
}

async function readOnce(origin: string, history: RecordedHistory): Promise<void> {
  const caller = new Caller(origin);
  await history.call('reader', caller, []);
  caller.close();
}

interface Recorded extends Operation {
  returnedAt: number;
  outcome: Outcome;
}

const readShare = 0.35;
const oneItemShare = 0.3;
const batchShare = 0.2;
const batchItemsMax = 3;
/** Lengths from small items to ones of which a few fill many pages and are sent in several chunks. */
const paddings = [0, 0, 50, 500, 3_000, 30_000];
const reconnectMs = 10;
const operationsShownMax = 12;

/** The calls and outcomes of the callers of one table, in the order of one clock. */
class RecordedHistory {
  readonly operations: Recorded[] = [];
  readonly #table: string;
  readonly #ids: readonly string[];
  readonly #random: Random;
  #clock = 0;
  #lastName = 0;
  /** The number of 503 responses, whose operations may have been executed or not. */
  failures = 0;

  constructor(table: string, ids: readonly string[], random: Random) {
    this.#table = table;
    this.#ids = ids;
    this.#random = random;
  }

  get unknown(): number {
    return this.operations.filter(({ outcome }) => outcome.kind === 'unknown').length;
  }

  /** Sends one caller's requests, one after the other, until `isOver`. */
  async keepCalling(name: string, origin: string, isOver: () => boolean): Promise<void> {
    const caller = new Caller(origin);
    try {
      while (!isOver()) {
        const isSent = await this.call(name, caller, this.#anyWrites());
        if (!isSent) await new Promise((resolve) => setTimeout(resolve, reconnectMs));
      }
    } finally {
      caller.close();
    }
  }

  /** One operation. @returns whether it was sent */
  async call(name: string, caller: Caller, writes: readonly ItemWrite[]): Promise<boolean> {
    const operation: Recorded = {
      call: { caller: name, writes: writes.map(withoutPadding) },
      calledAt: ++this.#clock,
      returnedAt: Number.POSITIVE_INFINITY,
      outcome: { kind: 'unknown' },
    };
    const only =
      writes.length === 0 && this.#random() < oneItemShare ? pick(this.#random, this.#ids) : undefined;
    const result = await (writes.length === 0
      ? readTable(caller, this.#table, only)
      : writeTable(caller, this.#table, writes));
    if (result.kind === 'not sent') return false;
    const outcome: Outcome =
      result.kind === 'lost' ? { kind: 'unknown' } : this.#outcomeOf(writes, only, result);
    // A lost read shows nothing.
    if (writes.length === 0 && outcome.kind === 'unknown') return true;
    operation.outcome = outcome;
    if (outcome.kind !== 'unknown') operation.returnedAt = ++this.#clock;
    this.operations.push(operation);
    return true;
  }

  /** All processes have ended: operations that have not happened by now never will. */
  ended(): void {
    for (const operation of this.operations) {
      if (operation.returnedAt === Number.POSITIVE_INFINITY) operation.returnedAt = ++this.#clock;
    }
  }

  #outcomeOf(
    writes: readonly ItemWrite[],
    only: string | undefined,
    response: { status: number; text: string },
  ): Outcome {
    const { status, text } = response;
    if (status === 503) {
      this.failures++;
      return { kind: 'unknown' };
    }
    if (writes.length === 0) {
      const items = status === 404 ? [] : only === undefined ? itemsIn(text) : [itemIn(text)];
      return { kind: 'read', items: namesOf(items), ...(only === undefined ? {} : { only }) };
    }
    const result = resultOf(writes, { kind: 'responded', status, text });
    if (result === 'failed') throw new Error(`a write returned ${status}: ${text.slice(0, 300)}`);
    return { kind: result };
  }

  #anyWrites(): readonly ItemWrite[] {
    if (this.#random() < readShare) return [];
    const isBatch = this.#random() < batchShare;
    const ids = shuffled(this.#random, this.#ids);
    return ids.slice(0, isBatch ? between(this.#random, 2, batchItemsMax) : 1).map((id) => this.#write(id));
  }

  #write(id: string): ItemWrite {
    const kind = pick(this.#random, kinds);
    if (kind === 'delete') return { kind, id };
    this.#lastName++;
    return { kind, id, name: padded(String(this.#lastName), pick(this.#random, paddings)) };
  }
}

const kinds = ['create', 'create', 'update', 'update', 'delete'] as const;

/** Every name is written once, so that a read shows which write it saw. */
function padded(name: string, length: number): string {
  return `${name}:${length}:${name.repeat(Math.ceil(length / name.length))}`;
}

function withoutPadding(write: ItemWrite): ItemWrite {
  return write.kind === 'delete' ? write : { ...write, name: shortName(write.name) };
}

function namesOf(items: readonly Item[]): Map<string, string> {
  return new Map(items.map(({ id, name }) => [id, shortName(name)]));
}

/** Throws on a name that is incomplete. */
function shortName(name: string): string {
  const [short = '', length = ''] = name.split(':');
  if (name !== padded(short, Number(length))) throw new Error(`a name was read as ${name.slice(0, 50)}…`);
  return short;
}

/** Describes the operation that fits no order, and the ones before it. */
function explain({ operation, states, open }: Violation, history: readonly Operation[]): string {
  const before = history.filter(({ returnedAt }) => returnedAt <= operation.returnedAt);
  before.sort((one, other) => one.returnedAt - other.returnedAt);
  return [
    `no order of the operations explains:\n  ${describeOperation(operation)}`,
    `the table may have had:\n${states.map((state) => `  ${describeItems(state)}`).join('\n')}`,
    `open at that time:\n${open.map((each) => `  ${describeOperation(each)}`).join('\n')}`,
    `returned before it:\n${before
      .slice(-operationsShownMax)
      .map((each) => `  ${describeOperation(each)}`)
      .join('\n')}`,
  ].join('\n');
}

function describeOperation({ call, calledAt, returnedAt, outcome }: Operation): string {
  const writes = call.writes.map((write) =>
    write.kind === 'delete' ? `delete ${write.id}` : `${write.kind} ${write.id}=${write.name}`,
  );
  const what = writes.length === 0 ? 'read' : writes.join(', ');
  const result = outcome.kind === 'read' ? describeItems(outcome.items) : outcome.kind;
  return `${calledAt}–${returnedAt} ${call.caller}: ${what} → ${result}`;
}

function describeItems(items: ReadonlyMap<string, string>): string {
  return `{${[...items].map(([id, name]) => `${id}=${name}`).join(' ')}}`;
}
