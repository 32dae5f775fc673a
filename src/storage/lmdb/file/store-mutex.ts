import { closeSync, existsSync, fsyncSync, linkSync, openSync, rmSync } from 'node:fs';
import { open, type RootDatabase } from 'lmdb';
import { SettingsError } from '../../../errors.ts';
import { structureProblem } from './page-check.ts';

/**
 * A mutex across processes: one process at a time opens the store or writes to it. When LMDB (as in lmdb 3.5) opens a file, it reads
 * the last transaction and records it. If another process commits in between, the next writer overwrites that commit (LMDB's
 * ITS#9496).
 *
 * The mutex is the writer mutex of an LMDB environment that nothing writes to. Processes share it, waiting does not poll, and the
 * kernel frees it when its holder is killed.
 */
export class StoreMutex {
  readonly #environment: RootDatabase<string, string>;

  /** Throws SettingsError if its file is damaged. */
  constructor(storeFile: string) {
    const file = `${storeFile}-mutex`;
    if (!existsSync(file)) makeFile(file);
    checkMutexFile(file);
    this.#environment = openMutex(file);
  }

  /** Throws what the work throws. A thread must not hold it twice. */
  hold<Result>(work: () => Result): Result {
    return this.#environment.transactionSync(work);
  }

  close(): Promise<void> {
    return this.#environment.close();
  }
}

function openMutex(file: string): RootDatabase<string, string> {
  return open<string, string>({ path: file, overlappingSync: false, maxDbs: 1, encoding: 'string' });
}

/** Atomic: an interrupted call leaves no file, and concurrent calls create one file. */
function makeFile(file: string): void {
  const draft = `${file}-${process.pid}`;
  const removeDraft = () => {
    for (const left of [draft, `${draft}-lock`]) rmSync(left, { force: true });
  };
  // A killed process with the same process id, as in a container, may have left these files.
  removeDraft();
  void openMutex(draft).close();
  const descriptor = openSync(draft, 'r+');
  try {
    fsyncSync(descriptor);
    linkSync(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    closeSync(descriptor);
    removeDraft();
  }
}

/** LMDB crashes the process on a damaged file, so it is checked first. */
function checkMutexFile(file: string): void {
  const descriptor = openSync(file, 'r');
  const problem = structureProblem(descriptor);
  closeSync(descriptor);
  if (problem === undefined) return;
  throw new SettingsError([
    `data (COUNTERFOIL_DATA): ${file} is damaged; stop every process that uses the store, and remove this file`,
  ]);
}
