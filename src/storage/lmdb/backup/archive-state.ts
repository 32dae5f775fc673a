import { randomBytes } from 'node:crypto';
import { isAlive } from '../../../durable-files.ts';
import { entryTextsFrom, lastEntry, readArchiveMark } from '../log/journal.ts';
import type { Store } from '../store.ts';

/** How often the process that makes backups renews its lease in the store: one small flush. */
const leaseBeatMs = 10_000;
/** After this silence another process takes over. If the owner's process has ended, another one takes over at once. */
const leaseSilenceMsMax = 35_000;

/** The lease is in the store, but not in the journal. Its owner renews it. */
interface LeaseRecord {
  readonly owner: string;
  readonly pid: number;
  /** Increases while the owner lives. */
  readonly beat: number;
}

const leaseKey = 'backup-owner';

/**
 * Elects the process that makes the backups, of all processes that have the store open. Another process takes over when the owner's
 * process has ended, or has been silent for `leaseSilenceMsMax`. Two owners for a moment do no harm: their notes in the store are
 * conditional.
 */
export class Lease {
  readonly #store: Store;
  readonly #self = randomBytes(9).toString('base64url');
  readonly #silenceMsMax: number;
  #beatAt = -Infinity;
  /** The last record of another owner, and when it was first seen. */
  #seen: { readonly text: string; readonly since: number } | undefined;

  constructor(store: Store, silenceMsMax = leaseSilenceMsMax) {
    this.#store = store;
    this.#silenceMsMax = silenceMsMax;
  }

  /** Keeps the lease, or takes it if nobody holds it. @returns whether this process holds it */
  take(): boolean {
    this.#store.root.resetReadTxn();
    const text = this.#store.root.get(leaseKey);
    const record = parseRecord<LeaseRecord>(text);
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

  /** Whether this process holds the lease now. Within a write transaction, the answer holds until its end. */
  isHeld(): boolean {
    return parseRecord<LeaseRecord>(this.#store.root.get(leaseKey))?.owner === this.#self;
  }

  /** Lets another process take the lease at once. */
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

/** Call it on a copy of a store: the owner of the lease makes the backups of the original. */
export function clearLease({ root }: Store): void {
  root.removeSync(leaseKey);
}

function parseRecord<Value>(text: string | undefined): Value | undefined {
  return text === undefined ? undefined : (JSON.parse(text) as Value);
}

/** Why the last failed backup, or round of continuous backup, failed. It is in the store, so that every process and the next start know it. */
export interface LastFailure {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly what: 'snapshot' | 'continuous';
  readonly code: string;
  /** A sentence that names the target. */
  readonly message: string;
}

/** The failure is not in the journal, so that a failing backup makes no commits. */
const failureKey = 'backup-failure';

/** Undefined if none has failed since the store was made or restored. */
export function readLastFailure({ root }: Store): LastFailure | undefined {
  root.resetReadTxn();
  return parseRecord(root.get(failureKey));
}

export function noteFailure(store: Store, failure: LastFailure): void {
  store.write(() => store.root.putSync(failureKey, JSON.stringify(failure)));
}

/** Call it on a restored store: the failure belongs to the store that was backed up. */
export function clearFailure({ root }: Store): void {
  root.removeSync(failureKey);
}

/** The progress of continuous backup. */
export interface ArchiveProgress {
  /** The number of the last commit in a segment; undefined if no chain of segments has begun. */
  readonly position: number | undefined;
  /** The number of the store's last commit; 0 without commits. */
  readonly storePosition: number;
  /** When the first commit that is in no segment was made, in milliseconds since 1970; undefined if all commits are in segments. */
  readonly pendingSince: number | undefined;
}

export function readArchiveProgress(store: Store): ArchiveProgress {
  store.root.resetReadTxn();
  const position = readArchiveMark(store)?.position;
  const storePosition = lastEntry(store)?.commit ?? position ?? 0;
  const [pending] = position === undefined ? [] : entryTextsFrom(store, position + 1);
  const progress = { position, storePosition, pendingSince: pending?.at };
  // An open snapshot would keep the store from reusing old pages.
  store.root.resetReadTxn();
  return progress;
}
