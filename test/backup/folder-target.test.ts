import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { FolderTarget } from '../../src/backup/folder-target.ts';
import { BackupFailed } from '../../src/backup/target.ts';
import { testTargetContract } from '../contracts/backup-target.ts';
import { newDataFolder } from '../support/service.ts';

testTargetContract('a folder', { newTarget: async (t) => new FolderTarget(newDataFolder(t)) });

test('a folder: what a live process writes stays, and what a dead one has left goes', async (t) => {
  const folder = newDataFolder(t);
  const target = new FolderTarget(folder);
  const live = spawn(process.execPath, ['-e', 'setInterval(() => undefined, 1000)']);
  t.after(() => live.kill('SIGKILL'));
  await target.prepare();
  mkdirSync(join(folder, `unfinished-${live.pid}`));
  await target.prepare();
  assert.deepEqual(readdirSync(folder), [`unfinished-${live.pid}`]);
  assert.equal(target.isAbandoned(), false, 'its half backup is not abandoned');
  live.kill('SIGKILL');
  await once(live, 'exit');
  assert.equal(target.isAbandoned(), true);
  await target.prepare();
  assert.deepEqual(readdirSync(folder), []);
});

test('a folder that has gone, as with its disk, is not made anew by a file for it', async (t) => {
  const folder = newDataFolder(t);
  const target = new FolderTarget(folder);
  await target.prepare();
  renameSync(folder, `${folder}-unmounted`);
  await assert.rejects(target.put('segment', Buffer.from('x')), BackupFailed);
  assert.equal(existsSync(folder), false);
  renameSync(`${folder}-unmounted`, folder);
  assert.equal(await target.put('segment', Buffer.from('x')), 'written');
});
