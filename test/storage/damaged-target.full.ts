import assert from 'node:assert/strict';
import { cpSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { FolderTarget } from '../../src/backup/folder-target.ts';
import { BackupFailed } from '../../src/backup/target.ts';
import type { Engine } from '../../src/storage/engine.ts';
import { makeBackup } from '../../src/storage/lmdb/backup/make.ts';
import { restoreBackup } from '../../src/storage/lmdb/backup/restore.ts';
import { ContinuousStore, itemsIn, restoredItems } from '../support/backup/continuous-store.ts';
import { runCommand } from '../support/command.ts';
import { between, randomFrom, seedOf } from '../support/random.ts';
import { newDataFolder } from '../support/service.ts';
import { untilAtRest } from '../support/storage/rest.ts';

/** A damaged or missing piece of a target, and an end before the wanted moment, are named and not skipped in silence. */

const flips = process.env.LONG === '1' ? 40 : 2;

const damages: Readonly<Record<string, (path: string, random: () => number) => void>> = {
  removed: (path) => rmSync(path),
  truncated: (path) => truncateSync(path, Math.floor(readFileSync(path).length / 2)),
  emptied: (path) => truncateSync(path, 0),
  flipped: (path, random) => {
    const bytes = readFileSync(path);
    const at = between(random, 0, bytes.length - 1);
    bytes.writeUInt8((bytes[at] as number) ^ (1 << between(random, 0, 7)), at);
    writeFileSync(path, bytes);
  },
};

for (const kind of ['with segments', 'with backups alone'] as const) {
  test(`${kind}: whatever file of a target is damaged, a restore has everything or names what is missing`, async (t) => {
    const random = randomFrom(seedOf(t));
    const { target, all } = await filledTarget(t, kind === 'with segments');
    const files = readdirSync(target.name);
    assert.ok(files.length >= (kind === 'with segments' ? 10 : 8), files.join());
    let rejected = 0;
    for (const file of files)
      for (const [what, damage] of Object.entries(damages))
        for (let round = 0; round < (what === 'flipped' ? flips : 1); round++) {
          const folder = `${newDataFolder(t)}-damaged`;
          t.after(() => rmSync(folder, { recursive: true, force: true }));
          cpSync(target.name, folder, { recursive: true });
          damage(join(folder, file), random);
          rejected += await checkRestore(t, new FolderTarget(folder), all, `${file} is ${what}`);
        }
    // The owner's note, and what is older than the newest backup, may go without harm.
    assert.ok(rejected >= files.length, `${rejected} rejected of ${files.length} files`);
  });
}

/** @returns 1 if the restore was rejected */
async function checkRestore(
  t: TestContext,
  target: FolderTarget,
  all: readonly string[],
  what: string,
): Promise<number> {
  const found = await restoredItems(target, newDataFolder(t)).catch((error: unknown) => error);
  if (found instanceof Map) {
    assert.deepEqual([...found.keys()].sort(), all, `${what}: less was restored in silence`);
    return 0;
  }
  assert.ok(found instanceof BackupFailed, `${what}: ${found}`);
  assert.match(found.message, /; restore with --accept-missing/, what);
  let missing: readonly string[] = [];
  let items: readonly string[] = [];
  const prepare = async (engine: Engine, restored: { readonly missing: readonly string[] }) => {
    missing = restored.missing;
    items = [...(await itemsIn(engine, 'table:t')).keys()].sort();
  };
  await restoreBackup(target, newDataFolder(t), { others: [], acceptsMissing: true, prepare });
  assert.ok(missing.length > 0, what);
  assert.deepEqual(items, all.slice(0, items.length), `${what}: a state that existed`);
  return 1;
}

test('a target from which the newest backup has gone, both files, is not restored in silence', async (t) => {
  const { target } = await filledTarget(t, false);
  const newest = readdirSync(target.name)
    .filter((name) => /^counterfoil-2/.test(name))
    .slice(-2);
  for (const name of newest) rmSync(join(target.name, name));
  await assert.rejects(restoredItems(target, newDataFolder(t)), (error) => {
    assert.ok(error instanceof BackupFailed && error.code === 'backup_missing', String(error));
    return true;
  });
  assert.ok((await restoredItems(target, newDataFolder(t), { acceptsMissing: true })).size > 0);
});

test('the command exits with 1, names what is damaged and the flag, and restores less with it', async (t) => {
  const { target } = await filledTarget(t, false);
  const newest = readdirSync(target.name)
    .filter((name) => /^counterfoil-2.*mdb$/.test(name))
    .at(-1);
  const path = join(target.name, newest ?? '');
  const bytes = readFileSync(path);
  bytes.writeUInt8((bytes[5_000] as number) ^ 1, 5_000);
  writeFileSync(path, bytes);
  const env = { COUNTERFOIL_DATA: newDataFolder(t) };
  const rejected = await runCommand(['restore', target.name], env);
  assert.equal(rejected.status, 1, rejected.errors);
  assert.match(
    rejected.errors,
    /its file has another checksum than its manifest; restore with --accept-missing/,
  );
  const accepted = await runCommand(['restore', target.name, '--accept-missing', '--json'], env);
  assert.equal(accepted.status, 0, accepted.errors);
  assert.match(JSON.parse(accepted.output).missing.join(), /another checksum/);
});

test('an idle store proves that nothing happened; one that sends nothing any more does not', async (t) => {
  const store = await ContinuousStore.open(newDataFolder(t));
  t.after(() => store.close());
  await store.archiver.round();
  await makeBackup(store.file, store.target);
  await store.create('x');
  await store.archiver.round();
  await sleep(30);
  const idle = Date.now();
  await assert.rejects(restoredItems(store.target, newDataFolder(t), { at: idle }), (error) => {
    assert.ok(error instanceof BackupFailed && error.code === 'ends_earlier', String(error));
    return true;
  });
  const less = await restoredItems(store.target, newDataFolder(t), { at: idle, acceptsMissing: true });
  assert.deepEqual([...less.keys()], ['x']);
  await sleep(5);
  for (let round = 0; round < 3; round++) await store.archiver.round();
  const found = await restoredItems(store.target, newDataFolder(t), { at: idle });
  assert.deepEqual([...found.keys()], ['x']);
  const beats = readdirSync(store.target.name).filter((name) => name.startsWith('heartbeat-'));
  assert.equal(beats.length, 1, 'heartbeats replace each other');
  await assert.rejects(
    restoredItems(store.target, newDataFolder(t), { at: Date.now() + 3_600_000 }),
    /shows the state until/,
  );
});

test('without segments a moment between two backups of one commit is known, and one after the last is not', async (t) => {
  const store = await ContinuousStore.open(newDataFolder(t));
  t.after(() => store.close());
  await store.create('x');
  // The end of compaction is a commit of its own.
  await untilAtRest(store.file);
  await makeBackup(store.file, store.target);
  await sleep(20);
  const between = Date.now();
  await sleep(20);
  await makeBackup(store.file, store.target);
  assert.equal((await restoredItems(store.target, newDataFolder(t), { at: between })).size, 1);
  await sleep(20);
  const after = Date.now();
  await assert.rejects(restoredItems(store.target, newDataFolder(t), { at: after }), /shows the state until/);
});

/** Three backups, with commits before and after each. */
async function filledTarget(
  t: TestContext,
  isContinuous: boolean,
): Promise<{ readonly target: FolderTarget; readonly all: readonly string[] }> {
  const store = await ContinuousStore.open(newDataFolder(t));
  const all: string[] = [];
  for (let round = 0; round < 3; round++) {
    if (isContinuous) await store.archiver.round();
    const id = `${round}-before`;
    await store.create(id);
    all.push(id);
    await makeBackup(store.file, store.target);
    if (!isContinuous) continue;
    await store.create(`${round}-sent`);
    all.push(`${round}-sent`);
    await store.archiver.round();
  }
  await store.close();
  return { target: store.target, all };
}
