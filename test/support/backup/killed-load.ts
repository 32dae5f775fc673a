import { FolderTarget } from '../../../src/backup/folder-target.ts';
import { JournalArchiver } from '../../../src/storage/lmdb/backup/journal-archiver.ts';
import { makeBackup } from '../../../src/storage/lmdb/backup/make.ts';
import { openLmdbEngine, storeFile } from '../../../src/storage/lmdb/open.ts';

/**
 * Makes commits, segments, heartbeats, backups and deletions until it is killed. Arguments: the data folder, the target, the number of
 * the first item, and the step after which it kills itself, with how many times that has passed before. Prints `created N` and `sent N`.
 */
const [data = '', folder = '', first = '0', step, before = '0'] = process.argv.slice(2);
let left = Number(before);
const passed = (each: string) => {
  if (each === step && left-- === 0) process.kill(process.pid, 'SIGKILL');
};
const print = (text: string) => process.stdout.write(`${text}\n`);
const engine = openLmdbEngine(data);
const target = new FolderTarget(folder);
await target.prepare();
const archiver = new JournalArchiver(storeFile(data), target, {
  heartbeatMs: 0,
  leaseSilenceMsMax: 0,
  passed,
});
archiver.lease.take();
for (let n = Number(first), round = 0; ; round++) {
  await archiver.round();
  if (round % 3 === 0) await makeBackup(storeFile(data), target, { keep: 2, passed });
  const id = String(n).padStart(6, '0');
  await engine.commit([{ kind: 'create', space: 'table:t', id, value: 'x', makeSpace: true }]);
  print(`created ${n}`);
  await archiver.round();
  print(`sent ${n}`);
  n++;
}
