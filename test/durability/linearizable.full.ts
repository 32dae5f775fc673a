import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Caller } from '../support/caller.ts';
import { violationIn } from '../support/durability/linearizability.ts';
import { explain, RecordedHistory } from '../support/durability/recorded-history.ts';
import { count, workers } from '../support/extent.ts';
import { between, pick, type Random, randomFrom, seedOf } from '../support/random.ts';
import { newData, ServeProcess } from '../support/serve-process.ts';

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
