import { randomBytes } from 'node:crypto';
import { entryTextsFrom, lastEntry, readArchiveMark } from '../log/journal.ts';
import type { Store } from '../store.ts';
import { leaseBeatMs, leaseSilenceMsMax } from './limits.ts';

/** In the store, beside the journal and not in it. Its owner writes it again and again. */
interface LeaseRecord {
  readonly owner: string;
  readonly pid: number;
  /** Goes up while the owner lives. */
  readonly beat: number;
}

const leaseKey = 'backup-owner';

/**
 * Elects the one process, of all that have the store open, that makes its backups. Another one takes over when the owner's process has
 * ended, or has been silent for `leaseSilenceMsMax`. Two owners for a moment do no harm: what they note in the store is conditional.
 */
export class Lease {
  readonly #store: Store;
  readonly #self = randomBytes(9).toString('base64url');
  readonly #silenceMsMax: number;
  #beatAt = -Infinity;
  /** The owner as last seen, and since when it is the same. */
  #seen: { readonly text: string; readonly since: number } | undefined;

  constructor(store: Store, silenceMsMax = leaseSilenceMsMax) {
    this.#store = store;
    this.#silenceMsMax = silenceMsMax;
  }

  /** Keeps the lease, or takes it if nobody holds it. @returns whether this process holds it */
  take(): boolean {
    this.#store.root.resetReadTxn();
    const text = this.#store.root.get(leaseKey);
    const record = parsed(text);
    const isOurs = record?.owner === this.#self;
    if (isOurs && performance.now() - this.#beatAt < leaseBeatMs) return true;
    if (!isOurs && record !== undefined && !this.#isGone(text ?? '', record)) return false;
    return this.#store.write(() => {
      if (this.#store.root.get(leaseKey) !== text) return false;
      const next: LeaseRecord = { owner: this.#self, pid: process.pid, beat: (record?.beat ?? 0) + 1 };
      this.#store.root.putSync(leaseKey, JSON.stringify(next));
      this.#beatAt = performance.now();
      return true;
    });
  }

  /** Whether this process holds it now. Within a write transaction this stays so until its end. */
  isHeld(): boolean {
    return parsed(this.#store.root.get(leaseKey))?.owner === this.#self;
  }

  /** Lets another process take it at once. */
  release(): void {
    this.#store.root.resetReadTxn();
    if (!this.isHeld()) return;
    this.#store.write(() => {
      if (this.isHeld()) this.#store.root.removeSync(leaseKey);
    });
  }

  #isGone(text: string, { pid }: LeaseRecord): boolean {
    if (this.#seen?.text !== text) this.#seen = { text, since: performance.now() };
    const isSilent = performance.now() - this.#seen.since >= this.#silenceMsMax;
    return isSilent || (pid !== process.pid && !isAlive(pid));
  }
}

/** Of a copy of a store: its owner makes the backups of the store that it was copied from. */
export function clearLease({ root }: Store): void {
  root.removeSync(leaseKey);
}

function parsed(text: string | undefined): LeaseRecord | undefined {
  return text === undefined ? undefined : (JSON.parse(text) as LeaseRecord);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Why a backup, or a round of continuous backup, failed last. In the store, so that every process and the next start know it. */
export interface LastFailure {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly what: 'snapshot' | 'continuous';
  readonly code: string;
  /** A sentence that names the target. */
  readonly message: string;
}

/** Beside the journal and not in it, so that a failing backup makes no commits. */
const failureKey = 'backup-failure';

/** Undefined if none has failed since the store was made or restored. */
export function readLastFailure({ root }: Store): LastFailure | undefined {
  root.resetReadTxn();
  const text = root.get(failureKey);
  return text === undefined ? undefined : (JSON.parse(text) as LastFailure);
}

export function noteFailure(store: Store, failure: LastFailure): void {
  store.write(() => store.root.putSync(failureKey, JSON.stringify(failure)));
}

/** Of a restored store: what failed belongs to the store that was backed up. */
export function clearFailure({ root }: Store): void {
  root.removeSync(failureKey);
}

/** How far continuous backup is. */
export interface ArchiveProgress {
  /** The number of the last commit in a segment; undefined if no chain of segments has begun. */
  readonly position: number | undefined;
  /** The number of the last commit of the store; 0 without commits. */
  readonly storePosition: number;
  /** When the first commit that is in no segment was made, in milliseconds since 1970; undefined if all are in segments. */
  readonly pendingSince: number | undefined;
}

export function readArchiveProgress(store: Store): ArchiveProgress {
  store.root.resetReadTxn();
  const position = readArchiveMark(store)?.position;
  const storePosition = lastEntry(store)?.commit ?? position ?? 0;
  const [pending] = position === undefined ? [] : entryTextsFrom(store, position + 1);
  const progress = { position, storePosition, pendingSince: pending?.at };
  // The snapshot would keep old pages from being used again.
  store.root.resetReadTxn();
  return progress;
}
