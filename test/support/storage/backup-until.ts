import { FolderTarget } from '../../../src/backup/folder-target.ts';
import { type BackupStep, makeBackup } from '../../../src/storage/lmdb/backup/make.ts';

/** Makes a backup, and is killed right after a step. Arguments: the store's file, the target, the step, `take-over`. */
const [file = '', target = '', last, mode] = process.argv.slice(2);
await makeBackup(file, new FolderTarget(target), {
  keep: 1,
  takesOver: mode === 'take-over',
  passed: (step: BackupStep) => {
    if (step === last) process.kill(process.pid, 'SIGKILL');
  },
});
