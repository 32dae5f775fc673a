import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DamagedStoreError } from '../../../errors.ts';
import { storeFile } from '../open.ts';
import { verifyStore } from './verify.ts';

const markerOf = (folder: string) => join(folder, 'verify-at-start');

/** Records that a flush failed, so that the next start verifies the store before it serves. */
export function noteLoss(folder: string): void {
  try {
    writeFileSync(
      markerOf(folder),
      'A flush failed. The next start verifies the store and removes this file.\n',
    );
  } catch {
    // The disk that failed the flush may fail this too.
  }
}

/** Verifies a store whose last flush failed. Throws DamagedStoreError when it is damaged. */
export async function verifyAfterLoss(folder: string): Promise<void> {
  if (!existsSync(markerOf(folder))) return;
  const { problems } = await verifyStore(storeFile(folder));
  if (problems.length > 0) {
    throw new DamagedStoreError(problems.map((problem) => `data (COUNTERFOIL_DATA): ${problem}`));
  }
  rmSync(markerOf(folder), { force: true });
}
