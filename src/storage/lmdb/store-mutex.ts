import { closeSync, existsSync, fsyncSync, linkSync, openSync, rmSync } from 'node:fs';
import { open, type RootDatabase } from 'lmdb';
import { SettingsError } from '../../errors.ts';
import { readHead } from './pages.ts';

/**
 * Held by the one of all processes that opens the store or writes to it. LMDB (as in lmdb 3.5) notes, when it opens a file,
 * which transaction was the last; one that another process has committed since the file's head was read is so taken
 * back, and the next writer overwrites it (LMDB's ITS#9496).
 *
 * It is the writer's mutex of an LMDB environment to which nobody ever writes: it is shared by processes, waits without
 * polling, and is freed by the kernel when its holder is killed.
 */
export class StoreMutex {
  readonly #environment: RootDatabase<string, string>;

  /** Throws SettingsError where its file is damaged. */
  constructor(storeFile: string) {
    const file = `${storeFile}-mutex`;
    if (!existsSync(file)) makeFile(file);
    checkIsWhole(file);
    this.#environment = openEnvironment(file);
  }

  /** Throws what the work throws. Not to be held twice by one thread. */
  hold<Result>(work: () => Result): Result {
    return this.#environment.transactionSync(work);
  }

  close(): Promise<void> {
    return this.#environment.close();
  }
}

function openEnvironment(file: string): RootDatabase<string, string> {
  return open<string, string>({ path: file, overlappingSync: false, maxDbs: 1, encoding: 'string' });
}

/** Whole or not at all, whenever it is cut short, and the same one for all that make it at once. */
function makeFile(file: string): void {
  const draft = `${file}-${process.pid}`;
  const removeDraft = () => {
    for (const left of [draft, `${draft}-lock`]) rmSync(left, { force: true });
  };
  // Of a process that was killed here and had the same number, as it has in a container.
  removeDraft();
  void openEnvironment(draft).close();
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

/** LMDB ends the process on a file that is too short. */
function checkIsWhole(file: string): void {
  const descriptor = openSync(file, 'r');
  const head = readHead(descriptor);
  closeSync(descriptor);
  if (head !== undefined) return;
  throw new SettingsError([
    `data (COUNTERFOIL_DATA): ${file} is damaged; end every process that uses the store, and remove this file`,
  ]);
}
