import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { flush } from '../../src/durable-files.ts';
import type { Space, Write } from '../../src/storage/engine.ts';
import { commitWritesMax } from '../../src/storage/limits.ts';
import { makeBackup } from '../../src/storage/lmdb/backup/make.ts';
import { compactSteps } from '../../src/storage/lmdb/file/compact-file.ts';
import { verifyStore } from '../../src/storage/lmdb/file/verify.ts';
import { openLmdbEngine, storeFile } from '../../src/storage/lmdb/open.ts';
import { ContinuousStore, itemsIn } from '../support/backup/continuous-store.ts';
import { startCommand } from '../support/command.ts';
import { cutDuring, cutMoments, durationOf } from '../support/conformance/cut-moments.ts';
import { needRootAnd } from '../support/conformance/needs.ts';
import { PowerDisk } from '../support/conformance/power-disk.ts';
import { count } from '../support/extent.ts';
import { randomFrom, seedOf } from '../support/random.ts';
import { newData, ServeProcess } from '../support/serve-process.ts';
import { tryToPost } from '../support/try-to-send.ts';

/** Power cuts of the disk with the data during a restore and a compaction: the store is whole, or there is none. */
needRootAnd('nbdkit', 'nbdfuse', 'fusermount3', 'mkfs.ext4', 'losetup');

const cuts = count({ short: 2, long: 100 });
/** One for all starts: a cut may bring back the folder of the round before. */
const masterKey = { COUNTERFOIL_MASTER_KEY: randomBytes(32).toString('base64') };
const stepProgram = (name: string) => join(import.meta.dirname, `../support/storage/${name}.ts`);

test('restore: after a cut the folder has no store, and takes the restore again, or the whole one, still shut', async (t) => {
  const disk = PowerDisk.plugIn(t);
  const { target, items } = await backedUp(t);
  const data = join(disk.folder, 'store');
  const restore = (to: string) => startCommand(['restore', target], { COUNTERFOIL_DATA: to });
  const durationMs = await durationOf(() => restore(join(disk.folder, 'trial')).ended);
  const outcomes: string[] = [];
  for (const moment of [...cutMoments(randomFrom(seedOf(t)), cuts, durationMs), 'at its end'] as const) {
    const { status, errors } = await cutDuring(disk, restore(data), moment);
    await disk.restore();
    const when = `cut ${moment}`;
    assert.ok(status === 0 || moment !== 'at its end', errors);
    const isThere = existsSync(storeFile(data));
    outcomes.push(isThere ? 'whole' : existsSync(data) ? 'begun' : 'none');
    assert.ok(isThere || status !== 0, `${when}: the restored store is lost`);
    if (outcomes.at(-1) === 'begun') await assertDoesNotStart(t, data);
    const again = await restore(data).ended;
    assert.equal(again.status, isThere ? 2 : 0, `${when}: ${again.errors}`);
    if (isThere) assert.match(again.errors, /is not empty \(store\.mdb/, when);
    await assertWhole(data);
    assert.deepEqual(await itemsOfStore(data), items, when);
    await assertIsShut(t, data);
    rmSync(data, { recursive: true });
  }
  t.diagnostic(outcomes.join(' '));
});

async function assertWhole(data: string): Promise<void> {
  assert.deepEqual((await verifyStore(storeFile(data))).problems, []);
}

/** A folder with a backup and segments, and what a restore has. */
async function backedUp(t: TestContext) {
  const store = await ContinuousStore.open(newData(t));
  await store.archiver.round();
  for (let n = 0; n < 500; n++) await store.create(`before-${n}`);
  await makeBackup(store.file, store.target);
  for (let n = 0; n < 500; n++) await store.create(`after-${n}`);
  await store.archiver.round();
  await store.close();
  return { target: store.target.name, items: await itemsOfStore(join(store.file, '..')) };
}

/** Otherwise it would make a new, empty store, with payments open. */
async function assertDoesNotStart(t: TestContext, data: string): Promise<void> {
  const service = ServeProcess.spawn(t, { data });
  await assert.rejects(service.ready(), /was interrupted: run counterfoil restore again/);
  assert.equal(await service.ended(), 2);
}

async function assertIsShut(t: TestContext, data: string): Promise<void> {
  const service = await ServeProcess.start(t, { data, env: masterKey, simulate: true });
  const charge = { amount: 2_000, currency: 'EUR', token: 'tok_paid' };
  const reply = await tryToPost(`${await service.ready()}/stage/payment/simulated/charge`, charge);
  assert.equal(reply?.status, 503);
  assert.match(reply?.text ?? '', /reconcile_required/);
  await service.kill();
}

test('compact: after a cut the old store is there or the new one, with every item', async (t) => {
  const disk = PowerDisk.plugIn(t);
  const source = newData(t);
  const kept = await mostlyFree(source);
  const sourceBytes = statSync(storeFile(source)).size;
  const compact = (data: string) => startCommand(['compact'], { COUNTERFOIL_DATA: data });
  const durationMs = await durationOf(() => compact(flushedCopyOf(source, join(disk.folder, 'trial'))).ended);
  const check = async (data: string, isDone: boolean, when: string) => {
    await assertWhole(data);
    assert.deepEqual(await itemsOfStore(data), kept, when);
    if (isDone) assert.ok(statSync(storeFile(data)).size < sourceBytes / 2, `${when}: the new file is lost`);
    const again = await compact(data).ended;
    assert.equal(again.status, 0, `${when}: ${again.errors}`);
    assert.deepEqual(
      readdirSync(data).filter((name) => !name.startsWith('store.mdb')),
      [],
      when,
    );
    rmSync(data, { recursive: true });
  };
  for (const moment of [...cutMoments(randomFrom(seedOf(t)), cuts, durationMs), 'at its end'] as const) {
    const data = flushedCopyOf(source, join(disk.folder, 'store'));
    const { status } = await cutDuring(disk, compact(data), moment);
    await disk.restore();
    await check(data, status === 0, `cut ${moment}`);
  }
  for (const step of compactSteps) {
    const data = flushedCopyOf(source, join(disk.folder, 'store'));
    spawnSync(process.execPath, [stepProgram('compact-until'), storeFile(data), step]);
    await disk.cut([]);
    await disk.restore();
    await check(data, step === 'done', `cut after "${step}"`);
  }
});

/** Stores with a table `t`, for a disk whose power is cut. */
const space: Space = 'table:t';

/** Copies a store to a folder, of which a cut then takes nothing. @returns the folder */
function flushedCopyOf(source: string, folder: string): string {
  mkdirSync(folder, { mode: 0o700 });
  copyFileSync(storeFile(source), storeFile(folder));
  for (const path of [storeFile(folder), folder, dirname(folder)]) flush(path);
  return folder;
}

async function itemsOfStore(data: string): Promise<Map<string, string>> {
  const engine = openLmdbEngine(data);
  try {
    return await itemsIn(engine, space);
  } finally {
    await engine.close();
  }
}

/** Makes a store from which most items were deleted. @returns its items */
async function mostlyFree(data: string): Promise<Map<string, string>> {
  const engine = openLmdbEngine(data);
  const ids = Array.from({ length: 4_000 }, (_, n) => String(n).padStart(6, '0'));
  const value = 'x'.repeat(1_000);
  await commitAll(ids.map((id) => ({ kind: 'create', space, id, value, makeSpace: true })));
  await commitAll(ids.slice(500).map((id) => ({ kind: 'delete', space, id })));
  await engine.close();
  return new Map(ids.slice(0, 500).map((id) => [id, value]));

  async function commitAll(writes: readonly Write[]): Promise<void> {
    for (let first = 0; first < writes.length; first += commitWritesMax)
      assert.equal(await engine.commit(writes.slice(first, first + commitWritesMax)), undefined);
  }
}
