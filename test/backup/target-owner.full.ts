import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { FolderTarget } from '../../src/backup/folder-target.ts';
import { BackupFailed, type BackupTarget } from '../../src/backup/target.ts';
import { backupsIn, ownerFile, readOwnerId } from '../../src/storage/lmdb/backup/catalogue.ts';
import { makeBackup } from '../../src/storage/lmdb/backup/make.ts';
import { claimSteps, claimTarget, settleStoreId } from '../../src/storage/lmdb/backup/owner.ts';
import { restoreBackup } from '../../src/storage/lmdb/backup/restore.ts';
import { openLmdbEngine, storeFile } from '../../src/storage/lmdb/open.ts';
import { ContinuousStore, restoredItems } from '../support/backup/continuous-store.ts';
import { runCommand } from '../support/command.ts';
import { newDataFolder } from '../support/service.ts';

/** A target has the backups of one store. */

const owned = (error: unknown) => {
  assert.ok(error instanceof BackupFailed && error.code === 'target_owned', String(error));
  assert.match(error.message, /--take-over/);
  return true;
};

test('a second store is rejected before it changes anything: backups, retention and segments', async (t) => {
  const { one, target } = await withTwoBackups(t);
  const before = contentsOf(target);
  const other = await storeWith(t, 'foreign');
  await assert.rejects(makeBackup(storeFile(other), target, { keep: 1 }), owned);
  const continuous = await ContinuousStore.open(other, {}, target.name);
  await assert.rejects(continuous.archiver.round(), owned);
  await continuous.close();
  assert.deepEqual(contentsOf(target), before);
  const command = await runCommand(['backup', target.name, '--json'], { COUNTERFOIL_DATA: other });
  assert.equal(command.status, 1);
  assert.equal(JSON.parse(command.errors).error.code, 'target_owned');
  assert.deepEqual(contentsOf(target), before);
  await makeBackup(storeFile(one), target);
  assert.equal((await backupsIn(target)).length, 3, 'the owner goes on');
});

test('a restored store takes the target over only on demand; the old backups stay, and a restore asks which', async (t) => {
  const { one, target } = await withTwoBackups(t);
  const oldId = await settleStoreId(storeFile(one));
  const restored = newDataFolder(t);
  await restoreBackup(target, restored, { others: [], prepare: async () => undefined });
  await addItem(restored, 'after the restore');
  await assert.rejects(makeBackup(storeFile(restored), target), owned);
  const made = await makeBackup(storeFile(restored), target, { takesOver: true, keep: 1 });
  assert.notEqual(made.store_id, oldId);
  await makeBackup(storeFile(restored), target, { keep: 1 });
  const ids = (await backupsIn(target)).map(({ store_id }) => store_id);
  assert.deepEqual(ids, [oldId, oldId, made.store_id], 'retention deletes backups of its own store only');
  await assert.rejects(makeBackup(storeFile(one), target), owned, 'the old store is now the other one');
  await assert.rejects(restoredItems(target, newDataFolder(t)), (error) => {
    assert.ok(error instanceof BackupFailed && error.code === 'several_stores');
    for (const id of ids) assert.ok(error.message.includes(id ?? ''), error.message);
    return true;
  });
  const restoreOf = async (store?: string) => [
    ...(await restoredItems(target, newDataFolder(t), { store })).keys(),
  ];
  assert.deepEqual(await restoreOf(oldId), ['first', 'second']);
  assert.deepEqual(await restoreOf(made.store_id), ['after the restore', 'first', 'second']);
  await assert.rejects(restoreOf('00000000'), /there is no backup of store 00000000/);
});

test('a copied file of a store is another store, also before a service has opened it', async (t) => {
  const { one, target } = await withTwoBackups(t);
  const copy = newDataFolder(t);
  cpSync(storeFile(one), storeFile(copy));
  await assert.rejects(makeBackup(storeFile(copy), target), owned);
  await makeBackup(storeFile(one), target);
});

test('a target without a note of its owner belongs to the store that has backups there', async (t) => {
  const { one, target } = await withTwoBackups(t);
  const other = await storeWith(t, 'foreign');
  rmSync(join(target.name, ownerFile));
  await assert.rejects(makeBackup(storeFile(other), target), owned);
  await makeBackup(storeFile(one), target);
  assert.equal(await readOwnerId(target), await settleStoreId(storeFile(one)));
  writeFileSync(join(target.name, ownerFile), 'x');
  await assert.rejects(makeBackup(storeFile(one), target), /is damaged, so it is unknown to which store/);
  await makeBackup(storeFile(one), target, { takesOver: true });
});

test('a target without a note of its owner restores one store, and with backups of two it asks which', async (t) => {
  const { target } = await withTwoBackups(t);
  const other = await storeWith(t, 'foreign');
  rmSync(join(target.name, ownerFile));
  assert.deepEqual([...(await restoredItems(target, newDataFolder(t))).keys()], ['first', 'second']);
  const elsewhere = new FolderTarget(`${other}-target`);
  const foreign = await makeBackup(storeFile(other), elsewhere);
  for (const end of ['json', 'mdb'])
    cpSync(join(elsewhere.name, `${foreign.name}.${end}`), join(target.name, `${foreign.name}.${end}`));
  await assert.rejects(restoredItems(target, newDataFolder(t)), /Name one with --store ID/);
});

for (const kind of ['with', 'without'] as const) {
  test(`of stores that claim a target at once one gets it, on a server ${kind} conditional writes`, async (t) => {
    for (let round = 0; round < 2; round++) {
      const target = slowTarget(newDataFolder(t), kind === 'with');
      await target.prepare();
      const ids = Array.from({ length: 6 }, (_, n) => `0000000${n}`);
      const claims = await Promise.allSettled(
        ids.map(async (id) => {
          await sleep(Math.random() * 50);
          await claimTarget(target, id);
          return id;
        }),
      );
      const won = claims.flatMap((claim) => (claim.status === 'fulfilled' ? claim.value : []));
      assert.deepEqual(won, [await readOwnerId(target)]);
      for (const claim of claims) if (claim.status === 'rejected') owned(claim.reason);
    }
  });
}

for (const step of claimSteps) {
  test(`a claim or take-over that is killed after "${step}" leaves one owner, and no backup is lost`, async (t) => {
    const { one, target } = await withTwoBackups(t);
    const other = await storeWith(t, 'foreign');
    const ids = await Promise.all([one, other].map((data) => settleStoreId(storeFile(data))));
    const script = join(import.meta.dirname, '../support/storage/backup-until.ts');
    const args = [script, storeFile(other), target.name, step, 'take-over'];
    const { signal, stderr } = spawnSync(process.execPath, args);
    assert.equal(signal, 'SIGKILL', String(stderr));
    assert.equal(await readOwnerId(target), ids[step === 'looked' ? 0 : 1]);
    assert.equal((await backupsIn(target)).length, 2);
    const results = await Promise.allSettled([one, other].map((data) => makeBackup(storeFile(data), target)));
    assert.deepEqual(
      results.map(({ status }) => status),
      step === 'looked' ? ['fulfilled', 'rejected'] : ['rejected', 'fulfilled'],
    );
  });
}

/** As a bucket: requests take a while, and a server may ignore the condition of a write. */
function slowTarget(folder: string, isConditional: boolean): BackupTarget {
  const target = new FolderTarget(folder);
  const slow = async () => void (await sleep(Math.random() * 20));
  return {
    name: folder,
    drafts: undefined,
    prepare: () => target.prepare(),
    list: () => slow().then(() => target.list()),
    isAbandoned: () => false,
    sizeOf: (name) => target.sizeOf(name),
    get: (name) => slow().then(() => target.get(name)),
    put: async (name, bytes) => {
      await slow();
      if (isConditional) return target.put(name, bytes);
      await target.replace(name, bytes);
      return 'written';
    },
    replace: (name, bytes) => slow().then(() => target.replace(name, bytes)),
    putFile: (name, path) => target.putFile(name, path),
    remove: (names) => target.remove(names),
    close: () => target.close(),
  };
}

async function withTwoBackups(
  t: TestContext,
): Promise<{ readonly one: string; readonly target: FolderTarget }> {
  const one = await storeWith(t, 'first');
  const target = new FolderTarget(`${one}-target`);
  await makeBackup(storeFile(one), target);
  await addItem(one, 'second');
  await makeBackup(storeFile(one), target);
  return { one, target };
}

async function storeWith(t: TestContext, id: string): Promise<string> {
  const data = newDataFolder(t);
  await addItem(data, id);
  return data;
}

async function addItem(data: string, id: string): Promise<void> {
  const engine = openLmdbEngine(data);
  await engine.commit([{ kind: 'create', space: 'table:t', id, value: id, makeSpace: true }]);
  await engine.close();
}

function contentsOf({ name }: FolderTarget): readonly (readonly [string, string])[] {
  return readdirSync(name)
    .sort()
    .map((file) => [file, readFileSync(join(name, file), 'base64')] as const);
}
