import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Caller } from '../support/caller.ts';
import { ChargeRequests } from '../support/conformance/charge-requests.ts';
import { needRootAnd } from '../support/conformance/needs.ts';
import { PowerDisk } from '../support/conformance/power-disk.ts';
import { count, workers } from '../support/extent.ts';
import { startLedgerProcess } from '../support/ledger/ledger-process.ts';
import { between, type Random, randomFrom, seedOf } from '../support/random.ts';
import { type ServeOptions, ServeProcess } from '../support/serve-process.ts';
import { assertWhole } from '../support/storage/verify-command.ts';
import { load, verifyTable, type WatchedTable, watchedTable } from '../support/tables/table-load.ts';
import { readTable, writeTable } from '../support/tables/table-operations.ts';

/** Power cuts under load: everything that was acknowledged or read survives them (promises 3, 8 and 9). */
needRootAnd('nbdkit', 'nbdfuse', 'fusermount3', 'mkfs.ext4', 'losetup');

const cuts = count({ short: 5, long: 500 });
/** After so many cuts, a new disk, so that the store does not grow without bound. */
const cutsPerDisk = 50;
const firstStarts = count({ short: 6, long: 100 });
const loadMsMax = 1_500;
const callersPerTable = 8;
const itemsPerTable = 240;
const payers = 2;
const startMsMax = 400;
/** Readers are fast, so that some read writes that are being flushed when the power fails. */
const readPauseMs = 1;
/** The share of cuts that follow a kill, a restart and a read of all tables. */
const readShare = 0.3;
const frozenMsMax = 300;
const putsOfTrial = 500;
const storeProgram = join(import.meta.dirname, '../support/conformance/unflushed-store.ts');

test('loses unflushed writes on this disk, so that a store without flushes loses acknowledged ones', async (t) => {
  assert.ok(
    (await putsLeft(t, 'noSync')) < putsOfTrial,
    'nothing was lost: the disk does not simulate power cuts',
  );
  assert.equal(await putsLeft(t, 'flushed'), putsOfTrial);
});

test('has every write that was acknowledged or read after each cut under load', async (t) => {
  const random = randomFrom(seedOf(t));
  const totals = { cuts: 0, acknowledged: 0, lost: 0, failed: 0, read: 0 };
  while (totals.cuts < cuts) await drillDisk(t, random, totals);
  t.diagnostic(JSON.stringify(totals));
  assert.ok(totals.lost + totals.failed > 0, 'no cut interrupted a request');
});

test('starts again after a cut at any time of its first start', async (t) => {
  const random = randomFrom(seedOf(t));
  for (let start = 0; start < firstStarts; start++) {
    const disk = PowerDisk.plugIn(t);
    const service = ServeProcess.spawn(t, { data: join(disk.folder, 'store') });
    // On most machines, half of the cuts happen before it is ready, and the other half soon after.
    if (random() < 0.5) await service.ready();
    await sleep(between(random, 0, startMsMax));
    await disk.cut(service.pids);
    await disk.restore();
    await assertAcceptsItems(
      t,
      disk,
      `the cut happened ${service.readyMs > 0 ? 'after' : 'before'} it was ready`,
    );
    await disk.remove();
  }
});

test('starts again with its first item after a cut right after the first response', async (t) => {
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

/** @returns the number of acknowledged puts that are left after a cut */
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
  // A store that was not flushed may be too damaged to open.
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
  // Set, so that this test does not depend on the file of the master key, as other tests here do.
  const env = {
    COUNTERFOIL_MASTER_KEY: randomBytes(32).toString('base64'),
    COUNTERFOIL_SIMULATED_LEDGER: ledger.origin,
  };
  const options: ServeOptions = { data: join(disk.folder, 'store'), env, simulate: true };
  const tables = ['books', 'authors'].map((name) => watchedTable(name, itemsPerTable));
  const charges = new ChargeRequests();
  for (let cut = 0; cut < cutsPerDisk && totals.cuts < cuts; cut++) {
    const service = await reopened(t, { ...options, workers: cut % 2 === 0 ? 1 : workers }, tables);
    const drill = { disk, tables, charges, random, totals };
    if (random() < readShare) await readBeforeCut(t, service, options, drill);
    else await loadUntilCut(service, drill);
    await disk.restore();
    totals.cuts++;
  }
  const last = await reopened(t, options, tables);
  await charges.repeatAll(await last.ready(), ledger.charges);
  t.diagnostic(`${charges.succeeded} charges succeeded, ${charges.unknown} without a success`);
  assert.equal(await last.terminate(), 0, last.errors);
  await assertWhole(options.data);
  await disk.remove();
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
  readonly charges: ChargeRequests;
  readonly random: Random;
  readonly totals: Totals;
}

/**
 * Before some cuts the disk is frozen for a while: no flush completes. If the service acknowledged
 * or returned a write during that time, the cut would lose it.
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

/** Kills and restarts the service, reads all tables, and then cuts the power: everything that was read must survive. */
async function readBeforeCut(
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
  const { tables, charges, random, totals } = life;
  const origin = await service.ready();
  let isOver = false;
  const until = sleep(between(random, 0, loadMsMax))
    .then(end)
    .finally(() => {
      isOver = true;
    });
  const paying = Array.from({ length: payers }, () => charges.keepSending(origin, () => isOver));
  const result = await load({ origin, tables, callers: callersPerTable, random, until, readPauseMs });
  await Promise.all(paying);
  totals.acknowledged += result.acknowledged;
  totals.lost += result.lost;
  totals.read += result.read;
  for (const failed of result.failed.values()) totals.failed += failed;
}

async function assertAcceptsItems(t: TestContext, disk: PowerDisk, when: string): Promise<void> {
  const again = ServeProcess.spawn(t, { data: join(disk.folder, 'store') });
  const origin = await again.ready().catch((error: Error) => assert.fail(`${when}: ${error.message}`));
  const caller = new Caller(origin);
  const response = await writeTable(caller, 'first', [{ kind: 'create', id: 'a', name: '1' }]);
  assert.ok(response.kind === 'responded' && response.status === 200);
  caller.close();
  await again.kill();
}
