import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { magic } from '../file/pages.ts';
import {
  refreshDelayMsMax,
  repairMsMax,
  snapshotBoundedAfterMs,
  snapshotGrowthBytesMax,
  snapshotSweepMs,
} from '../limits.ts';

/** The snapshots that the main thread reads: when a new one is due (LastCommit), how reads share it, and how long it may be held. */

/** From LMDB's mdb.c, struct MDB_txbody. */
const transactionAt = 8;
/**
 * Where the writers' mutex may have its state, by mdb.c, struct MDB_txninfo. The mutex begins after one cache line, or after two where
 * a mutex is larger (glibc on arm64). The state is its first word in glibc, and its second one in musl.
 */
const writerLockAt = [64, 68, 128];
const headBytes = 132;
/** From linux/futex.h: the owner of the lock has died, and nobody has taken it since. Another bit says whether somebody waits for it. */
const ownerDied = 0x4000_0000;
const ownerMask = 0x7fff_ffff;

/**
 * The number of the store's last transaction, from any process. LMDB itself reads it, in the head of its lock file, when a snapshot
 * begins. Reading it costs a tenth of beginning a snapshot.
 *
 * A writer advances the number after its transaction is on disk. If the writer dies in between, no snapshot shows the transaction until
 * the next writer finds the mutex abandoned and corrects the number (mdb_mutex_failed).
 */
export class LastCommit {
  readonly #file: number;
  readonly #head = Buffer.alloc(headBytes);

  constructor(storeFile: string) {
    this.#file = openSync(`${storeFile}-lock`, 'r');
    this.#readHead();
    if (this.#head.readUInt32LE(0) !== magic) {
      closeSync(this.#file);
      throw new Error(`${storeFile}-lock is not a lock file of this LMDB`);
    }
  }

  read(): number {
    this.#readHead();
    return this.#head.readUIntLE(transactionAt, 6);
  }

  /** Whether, at the last `read`, a writer had died in its transaction and none had come after it. Then the number may lack that transaction. */
  get isInDoubt(): boolean {
    for (const at of writerLockAt) if ((this.#head.readUInt32LE(at) & ownerMask) === ownerDied) return true;
    return false;
  }

  close(): void {
    closeSync(this.#file);
  }

  #readHead(): void {
    readSync(this.#file, this.#head, 0, headBytes, 0);
  }
}

interface Pending extends PromiseWithResolvers<void> {
  /** When the first read began to wait, in milliseconds of `performance.now()`. */
  readonly since: number;
}

/**
 * Shares one refresh of the snapshot among all reads that begin in the same turn of the event loop. The refresh runs at the end of the
 * turn, so that it is recent enough for every read, including one that began late in the turn. A refresh at the start of the turn would
 * be too old: another process may have acknowledged a write since then, and a later request may come from a client that saw it.
 *
 * With many connections a turn can last long. The first read after `refreshDelayMsMax` then runs the refresh itself.
 */
export class SnapshotRefresh {
  readonly #refresh: () => Promise<void> | undefined;
  #pending: Pending | undefined;

  /** @param refresh returns a promise if the refresh must wait, and nothing if it is done */
  constructor(refresh: () => Promise<void> | undefined) {
    this.#refresh = refresh;
  }

  /** Resolves when the refresh is done, in the same turn. Rejects with the error of the refresh. */
  done(): Promise<void> {
    const pending = this.#pending ?? this.#begin();
    if (performance.now() - pending.since > refreshDelayMsMax) this.#run(pending);
    return pending.promise;
  }

  #begin(): Pending {
    const pending = { ...Promise.withResolvers<void>(), since: performance.now() };
    this.#pending = pending;
    setImmediate(() => this.#run(pending));
    return pending;
  }

  #run(pending: Pending): void {
    if (this.#pending !== pending) return;
    this.#pending = undefined;
    try {
      const refreshing = this.#refresh();
      if (refreshing === undefined) pending.resolve();
      else refreshing.then(pending.resolve, pending.reject);
    } catch (error) {
      pending.reject(error);
    }
  }
}

/** The reads that wait for a transaction that changes nothing: see `repairMessage` in writer.ts. */
export class Repairs {
  readonly #ask: () => void;
  /** In the order of their requests. */
  readonly #waiting: (() => void)[] = [];

  /** @param ask asks the writer for a transaction; the writer answers in the same order */
  constructor(ask: () => void) {
    this.#ask = ask;
  }

  /** Resolves after a transaction that begins after this call, but at the latest after `repairMsMax`. */
  async repaired(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    const late = setTimeout(resolve, repairMsMax);
    this.#ask();
    await promise;
    clearTimeout(late);
  }

  /** Call it with each answer. */
  answered(): void {
    this.#waiting.shift()?.();
  }
}

export interface SnapshotBounds {
  /** How far the file may grow while a snapshot is held, in bytes; `snapshotGrowthBytesMax` by default. */
  readonly growthBytesMax?: number | undefined;
  /** How long a snapshot may be held whatever the growth, in milliseconds; `snapshotBoundedAfterMs` by default. */
  readonly boundedAfterMs?: number | undefined;
  /** Called for each snapshot that these bounds end. */
  readonly ended?: (() => void) | undefined;
}

interface HeldSnapshot {
  readonly since: number;
  readonly fileBytes: number;
  readonly end: () => void;
}

/**
 * The snapshots of long reads in this process. The store cannot reuse the pages that a snapshot may still read, so updates make the file
 * grow as long as a snapshot is held. A snapshot that has been held for some seconds ends when the file has grown too much since it
 * began, whichever process wrote.
 */
export class HeldSnapshots {
  readonly #file: string;
  readonly #growthBytesMax: number;
  readonly #boundedAfterMs: number;
  readonly #ended: () => void;
  readonly #held = new Set<HeldSnapshot>();
  #sweeps: NodeJS.Timeout | undefined;

  constructor(file: string, bounds: SnapshotBounds = {}) {
    this.#file = file;
    this.#growthBytesMax = bounds.growthBytesMax ?? snapshotGrowthBytesMax;
    this.#boundedAfterMs = bounds.boundedAfterMs ?? snapshotBoundedAfterMs;
    this.#ended = bounds.ended ?? (() => undefined);
  }

  /**
   * @param end frees the snapshot, and makes the rest of its read fail
   * @returns a function to call when the read has freed the snapshot itself
   */
  hold(end: () => void): () => void {
    const held = { since: performance.now(), fileBytes: this.#fileBytes(), end };
    this.#held.add(held);
    this.#sweeps ??= setInterval(
      () => this.#sweep(),
      Math.min(snapshotSweepMs, this.#boundedAfterMs),
    ).unref();
    return () => {
      this.#held.delete(held);
      if (this.#held.size === 0) this.#stop();
    };
  }

  #sweep(): void {
    const fileBytes = this.#fileBytes();
    const before = performance.now() - this.#boundedAfterMs;
    for (const held of this.#held) {
      if (held.since > before || fileBytes - held.fileBytes <= this.#growthBytesMax) continue;
      this.#ended();
      held.end();
    }
  }

  #stop(): void {
    clearInterval(this.#sweeps);
    this.#sweeps = undefined;
  }

  /** 0 if the file is gone: what LMDB has mapped of it stays readable. */
  #fileBytes(): number {
    return statSync(this.#file, { throwIfNoEntry: false })?.size ?? 0;
  }
}
