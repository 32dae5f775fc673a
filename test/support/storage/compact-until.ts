import { type CompactStep, compactFile } from '../../../src/storage/lmdb/file/compact-file.ts';

/** Compacts the file of a store, and is killed right after a step. Arguments: the store's file, the step. */
const [file = '', last] = process.argv.slice(2);
await compactFile(file, undefined, (step: CompactStep) => {
  if (step === last) process.kill(process.pid, 'SIGKILL');
});
