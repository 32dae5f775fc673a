import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Caller } from '../support/caller.ts';
import { needRootAnd } from '../support/conformance/needs.ts';
import { PowerDisk } from '../support/conformance/power-disk.ts';
import { Orders } from '../support/conformance/requests.ts';
import { count, workers } from '../support/extent.ts';
import { startLedgerProcess } from '../support/ledger/ledger-process.ts';
import { between, type Random, randomFrom, seedOf } from '../support/random.ts';
import { type ServeOptions, ServeProcess } from '../support/serve-process.ts';
import { assertWhole } from '../support/storage/verify-command.ts';
import { load, verifyTable, type WatchedTable, watchedTable } from '../support/tables/table-load.ts';
import { readTable, writeTable } from '../support/tables/table-operations.ts';

/** Cuts of the power under load: what was acknowledged or shown survives them (promises 3, 8 and 9). */
needRootAnd('nbdkit', 'nbdfuse', 'fusermount3', 'mkfs.ext4', 'losetup');

const cuts = count({ short: 5, long: 500 });
/** Then a new disk, so that a store does not grow without end. */
const cutsPerDisk = 50;
const firstStarts = count({ short: 6, long: 100 });
const loadMsMax = 1_500;
const callersPerTable = 8;
const itemsPerTable = 240;
const orderers = 2;
const startMsMax = 400;
/** Readers are quick, so that some read what is being flushed when the power fails. */
const readPauseMs = 1;
/** Of the cuts, how many come after a kill and a look at what it left. */
const lookShare = 0.3;
const frozenMsMax = 300;
const putsOfTrial = 500;
const storeProgram = join(import.meta.dirname, '../support/conformance/unflushed-store.ts');

test('the disk loses what was not flushed, so that a store without flushing loses what it acknowledged', async (t) => {
  assert.ok((await putsLeft(t, 'noSync')) < putsOfTrial, 'nothing was lost: the disk is no trial');
  assert.equal(await putsLeft(t, 'flushed'), putsOfTrial);
});

test('has what was acknowledged and what was shown after each cut under load', async (t) => {
  const random = randomFrom(seedOf(t));
  const totals = { cuts: 0, acknowledged: 0, lost: 0, failed: 0, read: 0 };
  while (totals.cuts < cuts) await drillDisk(t, random, totals);
  t.diagnostic(JSON.stringify(totals));
  assert.ok(totals.lost + totals.failed > 0, 'no cut has met a request');
});

test('starts again after a cut at any moment of its first start', async (t) => {
  const random = randomFrom(seedOf(t));
  for (let start = 0; start < firstStarts; start++) {
    const disk = PowerDisk.plugIn(t);
    const service = ServeProcess.spawn(t, { data: join(disk.folder, 'store') });
    // Half of the cuts come before it is ready, on most machines, and half of them in its first moments.
    if (random() < 0.5) await service.ready();
    await sleep(between(random, 0, startMsMax));
    await disk.cut(service.pids);
    await disk.restore();
    await assertTakesItems(t, disk, `the cut came ${service.readyMs > 0 ? 'after' : 'before'} it was ready`);
    await disk.scrap();
  }
});

test('starts again with its first item after a cut that follows the first response', async (t) => {
  const disk = PowerDisk.plugIn(t);
  const service = await ServeProcess.start(t, { data: join(disk.folder, 'store') });
  const caller = new Caller(await service.ready());
  const response = await writeTable(caller, 'first', [{ kind: 'create', id: 'a', name: '1' }]);
  assert.ok(response.kind === 'responded' && response.status === 200);
  await disk.cut(service.pids);
  await disk.restore();
  const again = await ServeProcess.start(t, { data: join(disk.folder, 'store') });
  const found = await readTable(new Caller(await again.ready()), 'first');
  assert.ok(found.kind === 'responded');
  assert.equal(found.text, '{"statusCode":200,"body":[{"id":"a","name":"1"}]}');
  await again.kill();
});

/** @returns how many acknowledged puts are left after a cut */
async function putsLeft(t: TestContext, flushing: 'noSync' | 'flushed'): Promise<number> {
  const disk = PowerDisk.plugIn(t);
  const file = join(disk.folder, 'store.mdb');
  const store = spawn(process.execPath, [storeProgram, file, 'put', flushing], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  t.after(() => store.kill('SIGKILL'));
  store.stdin.write('put\n'.repeat(putsOfTrial));
  for await (const line of createInterface({ input: store.stdout })) {
    if (Number(line) === putsOfTrial - 1) break;
  }
  await disk.cut([store.pid as number]);
  await disk.restore();
  const counting = spawnSync(process.execPath, [storeProgram, file, 'count', flushing], { encoding: 'utf8' });
  // What is left of a store that was not flushed may be beyond opening.
  return counting.status === 0 ? Number(counting.stdout) : 0;
}

interface Totals {
  cuts: number;
  acknowledged: number;
  lost: number;
  failed: number;
  read: number;
}

async function drillDisk(t: TestContext, random: Random, totals: Totals): Promise<void> {
  const disk = PowerDisk.plugIn(t);
  const ledger = await startLedgerProcess(t);
  // Given, so that this test does not hang on the file of the master key, which other tests here try.
  const env = {
    COUNTERFOIL_MASTER_KEY: randomBytes(32).toString('base64'),
    COUNTERFOIL_SIMULATED_LEDGER: ledger.origin,
  };
  const options: ServeOptions = { data: join(disk.folder, 'store'), env, simulate: true };
  const tables = ['books', 'authors'].map((name) => watchedTable(name, itemsPerTable));
  const orders = new Orders();
  for (let cut = 0; cut < cutsPerDisk && totals.cuts < cuts; cut++) {
    const service = await reopened(t, { ...options, workers: cut % 2 === 0 ? 1 : workers }, tables);
    const drill = { disk, tables, orders, random, totals };
    if (random() < lookShare) await lookBeforeCut(t, service, options, drill);
    else await loadUntilCut(service, drill);
    await disk.restore();
    totals.cuts++;
  }
  const last = await reopened(t, options, tables);
  await orders.repeatAll(await last.ready(), ledger.charges);
  t.diagnostic(`${orders.answered} orders paid, ${orders.unanswered} without a response`);
  assert.equal(await last.terminate(), 0, last.errors);
  await assertWhole(options.data);
  await disk.scrap();
}

async function reopened(
  t: TestContext,
  options: ServeOptions,
  tables: readonly WatchedTable[],
): Promise<ServeProcess> {
  const service = await ServeProcess.start(t, options);
  const origin = await service.ready();
  for (const table of tables) await verifyTable(origin, table);
  return service;
}

interface Life {
  readonly disk: PowerDisk;
  readonly tables: readonly WatchedTable[];
  readonly orders: Orders;
  readonly random: Random;
  readonly totals: Totals;
}

/**
 * Before some cuts the disk stands still for a while: no flush comes to its end, and whoever is told of a write, or
 * shown it, is told of what the cut takes.
 */
async function loadUntilCut(service: ServeProcess, life: Life): Promise<void> {
  const { disk, random } = life;
  await loadUntil(service, life, async () => {
    if (random() < 0.5) {
      disk.freeze();
      await sleep(between(random, 50, frozenMsMax));
    }
    await disk.cut(service.pids);
  });
}

/** A kill, a start that shows what the last life has left, and only then the cut: what was shown has to be flushed. */
async function lookBeforeCut(
  t: TestContext,
  service: ServeProcess,
  options: ServeOptions,
  life: Life,
): Promise<void> {
  await loadUntil(service, life, () => service.kill());
  const again = await reopened(t, options, life.tables);
  await life.disk.cut(again.pids);
}

async function loadUntil(service: ServeProcess, life: Life, end: () => Promise<void>): Promise<void> {
  const { tables, orders, random, totals } = life;
  const origin = await service.ready();
  let isOver = false;
  const until = sleep(between(random, 0, loadMsMax))
    .then(end)
    .finally(() => {
      isOver = true;
    });
  const ordering = Array.from({ length: orderers }, () => orders.keepOrdering(origin, () => isOver));
  const result = await load({ origin, tables, callers: callersPerTable, random, until, readPauseMs });
  await Promise.all(ordering);
  totals.acknowledged += result.acknowledged;
  totals.lost += result.lost;
  totals.read += result.read;
  for (const failed of result.failed.values()) totals.failed += failed;
}

async function assertTakesItems(t: TestContext, disk: PowerDisk, when: string): Promise<void> {
  const again = ServeProcess.spawn(t, { data: join(disk.folder, 'store') });
  const origin = await again.ready().catch((error: Error) => assert.fail(`${when}: ${error.message}`));
  const caller = new Caller(origin);
  const response = await writeTable(caller, 'first', [{ kind: 'create', id: 'a', name: '1' }]);
  assert.ok(response.kind === 'responded' && response.status === 200);
  caller.close();
  await again.kill();
}
