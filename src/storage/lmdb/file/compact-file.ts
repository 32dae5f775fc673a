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

/** The steps of compacting, in order. If the process is killed after any of them, the old or the new file remains, with the same content. */
export const compactSteps = ['begun', 'copied', 'verified', 'done'] as const;
export type CompactStep = (typeof compactSteps)[number];

/** The draft is within the data folder, so that the last step is a rename. A killed run leaves it, and the next run removes it. */
const draftName = 'compacting';

/**
 * Replaces the file of a store by a verified copy without free pages. The store keeps its id, and so its ETags. Throws TransientError if
 * another process has the store open, DamagedStoreError if the copy is damaged, and BackupFailed if the store cannot be copied, for
 * example because the disk has no room.
 *
 * No process may continue with the old file, because its writes would be lost. So the last step checks, under the mutex of the store,
 * that no process has it open. A process that starts meanwhile waits, and opens the new file.
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
  // Opening takes the mutex itself, so it comes first.
  const store = openStore(file);
  const mutex = new StoreMutex(file);
  try {
    mutex.hold(() => {
      rejectOpen(file, otherProcessesOn(store.root));
      if (lastCommit(store) !== position)
        throw new TransientError(`data (COUNTERFOIL_DATA): ${file} was written to meanwhile; run this again`);
      // This closes at once, although it returns a promise. A process that opens the new file must not find LMDB's lock file in use.
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
