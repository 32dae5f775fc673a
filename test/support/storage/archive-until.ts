import { FolderTarget } from '../../../src/backup/folder-target.ts';
import { type ArchiveStep, JournalArchiver } from '../../../src/storage/lmdb/backup/journal-archiver.ts';
import { openLmdbEngine, storeFile } from '../../../src/storage/lmdb/open.ts';

/** Makes some commits, sends them to a target, and is killed right after a step. Arguments: the data folder, the target, the step. */
const [data = '', folder = '', last] = process.argv.slice(2);
const engine = openLmdbEngine(data);
for (let n = 0; n < 5; n++)
  await engine.commit([{ kind: 'create', space: 'table:t', id: `killed-${n}`, value: 'x', makeSpace: true }]);
const archiver = new JournalArchiver(storeFile(data), new FolderTarget(folder), {
  leaseSilenceMsMax: 0,
  passed: (step: ArchiveStep) => {
    if (step === last) process.kill(process.pid, 'SIGKILL');
  },
});
archiver.lease.take();
await archiver.round();
