import { randomBytes } from 'node:crypto';
import type { BackupTarget } from '../../../backup/target.ts';
import { journalRetainedBytesMax } from '../limits.ts';
import {
  type ArchiveMark,
  entryTextsFrom,
  lastEntry,
  readArchiveMark,
  writeArchiveMark,
} from '../log/journal.ts';
import { openStore, type Store } from '../store.ts';
import {
  type ArchiveProgress,
  type LastFailure,
  Lease,
  noteFailure,
  readArchiveProgress,
  readLastFailure,
} from './archive-state.ts';
import { backupsIn } from './catalogue.ts';
import { sendHeartbeat } from './notes.ts';
import { checkOwner, claimTarget } from './owner.ts';
import { noChecksum, parseSegmentName, readIntactSegment, SegmentDraft } from './segment.ts';

/** Characters at which a segment is closed: some seconds of a busy store, and some ten megabytes of memory to write it. */
const segmentSizeMax = 4 * 1024 * 1024;
/** How often continuous backup checks who owns the target: a request to a distant target. */
const ownerCheckMs = 60_000;
/** How often continuous backup sends a heartbeat: the state of a minute ago can be restored, and a bucket gets three requests a minute. */
const heartbeatMs = 20_000;

/** The result of a round of continuous backup. */
interface ArchiveRound {
  /** The number of commits that were sent to the target. */
  readonly commits: number;
  /** Why a new chain was begun, which a backup must follow, as a sentence; undefined if none was begun. */
  readonly begun: string | undefined;
}

export interface ArchiverOptions {
  /** After this silence of its owner, another process takes the lease; the bound of the same name by default. */
  readonly leaseSilenceMsMax?: number;
  /** The size from which on the journal keeps nothing for the target; `journalRetainedBytesMax` by default. */
  readonly journalBytesMax?: number;
  /** How often the target gets a heartbeat; `heartbeatMs` by default. */
  readonly heartbeatMs?: number;
  /** Called after each step of a segment. If the process is killed after any of them, nothing is lost. */
  readonly passed?: (step: ArchiveStep) => void;
}

export const archiveSteps = ['read', 'sent', 'noted', 'heartbeat'] as const;
export type ArchiveStep = (typeof archiveSteps)[number];

const nothing: ArchiveRound = { commits: 0, begun: undefined };

/**
 * Continuous backup: copies the commits of the journal to a target, in segments. Compaction leaves commits in the journal until the mark
 * in the store (`ArchiveMark`) has passed them. Call the methods in the process that holds the lease.
 */
export class JournalArchiver {
  readonly #store: Store;
  readonly #target: BackupTarget;
  readonly #options: ArchiverOptions;
  readonly lease: Lease;
  /** Whether this process has compared the target with the mark since it took the lease. */
  #isCompared = false;
  /** When this process last checked the owner of the target, and last sent a heartbeat, by `performance.now`. */
  #ownerCheckedAt = -Infinity;
  #heartbeatAt = -Infinity;

  constructor(file: string, target: BackupTarget, options: ArchiverOptions = {}) {
    this.#store = openStore(file);
    this.#target = target;
    this.#options = options;
    this.lease = new Lease(this.#store, options.leaseSilenceMsMax);
  }

  get storeId(): string {
    return this.#store.format.id;
  }

  /** The chain to which new segments belong. */
  get chain(): string | undefined {
    this.#store.root.resetReadTxn();
    return readArchiveMark(this.#store)?.chain;
  }

  get progress(): ArchiveProgress {
    return readArchiveProgress(this.#store);
  }

  get lastFailure(): LastFailure | undefined {
    return readLastFailure(this.#store);
  }

  noteFailure(failure: LastFailure): void {
    noteFailure(this.#store, failure);
  }

  /** Call it after the lease was lost: the next owner of the lease may have written segments. */
  forget(): void {
    this.#isCompared = false;
    this.#ownerCheckedAt = -Infinity;
  }

  /**
   * Sends the commits of the journal. Throws BackupFailed, also if the target belongs to another store. Nothing is lost then, and the next
   * round continues.
   */
  async round(): Promise<ArchiveRound> {
    const upTo = Date.now();
    await this.#checkOwner();
    const done = await this.#archive();
    if (done.begun === undefined) await this.#beat(upTo);
    return done;
  }

  async #checkOwner(): Promise<void> {
    const isFirst = this.#ownerCheckedAt === -Infinity;
    if (performance.now() - this.#ownerCheckedAt < ownerCheckMs) return;
    const { id } = this.#store.format;
    this.#ownerCheckedAt = -Infinity;
    await (isFirst ? claimTarget(this.#target, id) : checkOwner(this.#target, id));
    this.#ownerCheckedAt = performance.now();
  }

  /** Sends a heartbeat: everything that was acknowledged before this moment is at the target. */
  async #beat(upTo: number): Promise<void> {
    const { heartbeatMs: pauseMs = heartbeatMs, passed = () => undefined } = this.#options;
    if (performance.now() - this.#heartbeatAt < pauseMs) return;
    this.#store.root.resetReadTxn();
    const mark = this.lease.isHeld() ? readArchiveMark(this.#store) : undefined;
    this.#store.root.resetReadTxn();
    if (mark === undefined) return;
    const { store, chain, position } = mark;
    await sendHeartbeat(this.#target, { store_id: store, chain, position, at: new Date(upTo).toISOString() });
    passed('heartbeat');
    this.#heartbeatAt = performance.now();
  }

  async #archive(): Promise<ArchiveRound> {
    this.#store.root.resetReadTxn();
    const mark = readArchiveMark(this.#store);
    const reason = this.#whyNewChain(mark);
    if (mark === undefined || reason !== undefined) return this.#begin(reason ?? '');
    if (!this.#isCompared && !(await this.#compare(mark)))
      return this.#begin('the target has other commits than the store, which was set back');
    this.#isCompared = true;
    return this.#send();
  }

  close(): Promise<void> {
    this.lease.release();
    return this.#store.close();
  }

  #whyNewChain(mark: ArchiveMark | undefined): string | undefined {
    if (mark === undefined) return 'continuous backup begins';
    if (mark.store !== this.#store.format.id) return 'the store was restored or copied';
    if (mark.target !== this.#target.name) return 'the target is another one';
    return undefined;
  }

  /** Begins a new chain. From here on, compaction leaves commits in the journal. */
  #begin(reason: string): ArchiveRound {
    const isMade = this.#store.write(() => {
      if (!this.lease.isHeld()) return false;
      writeArchiveMark(this.#store, {
        chain: randomBytes(6).toString('hex'),
        target: this.#target.name,
        store: this.#store.format.id,
        position: lastEntry(this.#store)?.commit ?? 0,
        checksum: noChecksum,
        journalBytesMax: this.#options.journalBytesMax ?? journalRetainedBytesMax,
      });
      return true;
    });
    this.#isCompared = isMade;
    return isMade ? { commits: 0, begun: reason } : nothing;
  }

  async #send(): Promise<ArchiveRound> {
    const { passed = () => undefined } = this.#options;
    // Commits that are made meanwhile wait for the next round.
    const end = lastEntry(this.#store)?.commit ?? 0;
    let commits = 0;
    for (;;) {
      this.#store.root.resetReadTxn();
      const mark = readArchiveMark(this.#store);
      if (mark === undefined) return { commits, begun: undefined };
      const draft = this.#read(mark, end);
      // An open snapshot would keep the store from reusing old pages.
      this.#store.root.resetReadTxn();
      if (draft === undefined) return { ...this.#begin(gapAfter(mark)), commits };
      const { last } = draft;
      if (last === undefined) return { commits, begun: undefined };
      passed('read');
      const { name, bytes } = await draft.finish(mark.chain, mark.store);
      if ((await this.#target.put(name, bytes)) === 'exists' && !(await this.#isThere(name, draft.checksum)))
        return { ...this.#begin('the target has other commits under the same numbers'), commits };
      passed('sent');
      if (!this.#note(mark, last, draft.checksum)) return { commits, begun: undefined };
      passed('noted');
      commits += last - mark.position;
    }
  }

  /** Reads the next commits; undefined if the journal no longer has them. */
  #read({ position, checksum }: ArchiveMark, end: number): SegmentDraft | undefined {
    const draft = new SegmentDraft(checksum);
    let next = position + 1;
    for (const entry of entryTextsFrom(this.#store, next)) {
      if (entry.commit > end || draft.size >= segmentSizeMax) break;
      if (entry.commit !== next++) return undefined;
      draft.add(entry);
    }
    return draft;
  }

  /** @returns whether the mark had not changed since the segment was begun */
  #note(mark: ArchiveMark, position: number, checksum: string): boolean {
    return this.#store.write(() => {
      const now = readArchiveMark(this.#store);
      if (!this.lease.isHeld() || now?.chain !== mark.chain || now.position !== mark.position) return false;
      writeArchiveMark(this.#store, { ...mark, position, checksum });
      return true;
    });
  }

  /**
   * Compares the target with the store. A process that was killed between a segment and its note leaves a segment after the mark. If the
   * segment has other commits than the store, or a backup has commits that the store lacks, then the whole machine was set back.
   *
   * @returns whether the chain continues the store's history
   */
  async #compare(mark: ArchiveMark): Promise<boolean> {
    const last = lastEntry(this.#store)?.commit ?? 0;
    const backups = await backupsIn(this.#target);
    if (backups.some(({ chain, position }) => chain === mark.chain && position > last)) return false;
    const segments = (await this.#target.list()).flatMap(({ name }) => parseSegmentName(name) ?? []);
    const ahead = segments.filter(({ chain, last }) => chain === mark.chain && last > mark.position);
    for (const { name, first, last } of ahead) {
      const draft = first === mark.position + 1 ? this.#read(mark, last) : undefined;
      if (draft?.last !== last || !(await this.#isThere(name, draft.checksum))) return false;
    }
    return true;
  }

  async #isThere(name: string, checksum: string): Promise<boolean> {
    return (await readIntactSegment(this.#target, name))?.head.after === checksum;
  }
}

/** Ends continuous backup of a store: its journal no longer keeps commits for the target. */
export async function stopArchiving(file: string): Promise<void> {
  const store = openStore(file);
  try {
    if (readArchiveMark(store) !== undefined) store.write(() => writeArchiveMark(store, undefined));
  } finally {
    await store.close();
  }
}

function gapAfter({ position }: ArchiveMark): string {
  return `commits from ${position + 1} on are no longer in the journal: the target was away for too long`;
}
