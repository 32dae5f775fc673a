import { existsSync, mkdirSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { flush, putInPlace } from '../../../durable-files.ts';
import { DamagedStoreError, SettingsError, TransientError } from '../../../errors.ts';
import { copySnapshot } from '../backup/snapshot-copy.ts';
import { openStore, otherProcessesOn, processesOn } from '../store.ts';
import { makeFormat } from './format.ts';
import { StoreMutex } from './store-mutex.ts';
import { type Progress, verifyStore } from './verify.ts';

interface CompactedFile {
  readonly bytesBefore: number;
  readonly bytesAfter: number;
}

/** What compacting goes through, in this order; killed after any of them, it leaves the old file or the new one, both with the same content. */
export const compactSteps = ['begun', 'copied', 'verified', 'done'] as const;
export type CompactStep = (typeof compactSteps)[number];

/** Within the data folder, so that the last step is a rename; a killed run leaves it, and the next one removes it. */
const draftName = 'compacting';

/**
 * Replaces the file of a store by a copy without free pages, which has been verified. The store keeps its id, and so its ETags. Throws
 * TransientError if another process has the store open, DamagedStoreError if the copy is damaged, BackupFailed if it cannot be copied, as without room for it.
 *
 * No process can go on with the old file: what it wrote would be lost. So the last step makes sure, under the mutex of the store,
 * that none has it open; one that starts meanwhile waits, and opens the new file.
 */
export async function compactFile(
  file: string,
  progress?: Progress,
  passed: (step: CompactStep) => void | Promise<void> = () => undefined,
): Promise<CompactedFile> {
  rejectOpen(file, await processesOn(file));
  const draft = join(dirname(file), draftName);
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { mode: 0o700 });
  try {
    await passed('begun');
    const copy = join(draft, 'store.mdb');
    const position = await copyCompacted(file, copy);
    await passed('copied');
    const { problems } = await verifyStore(copy, progress);
    if (problems.length > 0) throw new DamagedStoreError([`the copy is damaged: ${problems.join('; ')}`]);
    flush(copy);
    await passed('verified');
    const bytesBefore = statSync(file).size;
    await replace(file, copy, position);
    await passed('done');
    return { bytesBefore, bytesAfter: statSync(file).size };
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** @returns the last commit in the copy, which has the id of the store */
async function copyCompacted(file: string, to: string): Promise<number> {
  const store = openStore(file);
  try {
    await copySnapshot(store, file, to);
    const copy = openStore(to);
    try {
      copy.write(() => makeFormat(to, copy.root, store.format.id));
      return lastCommit(copy);
    } finally {
      await copy.close();
    }
  } finally {
    await store.close();
  }
}

async function replace(file: string, copy: string, position: number): Promise<void> {
  // Before the mutex is taken, which opening takes itself.
  const store = openStore(file);
  const mutex = new StoreMutex(file);
  try {
    mutex.hold(() => {
      rejectOpen(file, otherProcessesOn(store.root));
      if (lastCommit(store) !== position)
        throw new TransientError(`data (COUNTERFOIL_DATA): ${file} was written to meanwhile; run this again`);
      // At once, although it returns a promise. A process that opens the new file must not find LMDB's lock file in use.
      void store.root.close();
      putInPlace(copy, file);
    });
  } finally {
    await store.close();
    await mutex.close();
  }
}

function lastCommit({ journal }: ReturnType<typeof openStore>): number {
  const [last = 0] = journal.getKeys({ reverse: true, limit: 1 });
  return last;
}

function rejectOpen(file: string, pids: readonly number[]): void {
  if (!existsSync(file)) throw new SettingsError([`data (COUNTERFOIL_DATA): there is no store at ${file}`]);
  if (pids.length === 0) return;
  throw new TransientError(
    `data (COUNTERFOIL_DATA): process ${pids.join(', ')} has ${file} open; stop the service first`,
  );
}
