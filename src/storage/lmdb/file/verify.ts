import { closeSync, openSync } from 'node:fs';
import { openStoreToRead } from '../store.ts';
import { checkFile, emptyProblem } from './format.ts';
import { type Progress, Verification, type Verified } from './verification.ts';

export type { Progress, Verified } from './verification.ts';

/**
 * Checks every leaf, the journal and the records: every checksum, every byte of the text, the order of keys and ids, offsets, and the
 * count and bytes in the record of each space. Writes nothing to the store. A service may run meanwhile: each page of leaves is read in
 * a snapshot of its own, so that no snapshot keeps the service from using old pages again.
 *
 * Throws SettingsError when the file is not a Counterfoil store, and what LMDB throws when the file cannot be read.
 */
export async function verifyStore(file: string, progress: Progress = () => undefined): Promise<Verified> {
  if (checkFile(file).isEmpty) {
    const problem = emptyProblem(file);
    return { items: 0, problems: problem === undefined ? [] : [`${file} ${problem}`] };
  }
  const store = openStoreToRead(file);
  const descriptor = openSync(file, 'r');
  try {
    return new Verification(store, descriptor, progress).run();
  } finally {
    await store.close();
    closeSync(descriptor);
  }
}
