import { readSmall } from '../../../backup/small-files.ts';
import { BackupFailed, type BackupTarget } from '../../../backup/target.ts';
import { futureSlackMs, type Manifest } from './manifest.ts';
import {
  BadSegment,
  type CommitLine,
  readSegment,
  type Segment,
  type SegmentName,
  segmentBytesMax,
} from './segment.ts';

/** Segments that a restore reads ahead: enough to hide the delay of a distant target. */
const segmentsAheadMax = 3;

/** The commits of a segment that a restore takes. */
interface ReplayedCommits {
  readonly commits: readonly CommitLine[];
  /** About how many characters they have. */
  readonly size: number;
}

/** The last commit that a restore has reached. */
export interface Reached {
  readonly position: number;
  /** When the commit was made (RFC 3339). */
  readonly at: string;
}

/** The end of a walk. */
export interface WalkEnd {
  /** Milliseconds since 1970. Later commits are left out. */
  readonly at: number;
  /** The last commit. */
  readonly position: number;
  /** Times after it come from a wrong clock. */
  readonly now: number;
}

/** Reads the commits that follow a backup, segment by segment, and proves that none is missing. */
export class Walk {
  readonly #target: BackupTarget;
  readonly #segments: readonly SegmentName[];
  readonly #end: WalkEnd;
  readonly #reading = new Map<string, Promise<Segment>>();
  #reached: Reached;
  /** The number of segments that begin at or before the next commit. */
  #passed = 0;
  /** The last commit that was read. It is after `reached` while it is unknown whether it belongs to the wanted moment. */
  #readTo: number;
  /** The running checksum after that commit; undefined if the backup names no chain of segments. */
  #checksum: string | undefined;
  /** Commits after `reached` with the times of a wrong clock. They count if a later commit counts. */
  #open: CommitLine[] = [];
  /** The first commit after the wanted moment or commit. */
  #firstLater: number | undefined;

  /** @param segments the segments of any chain, sorted by their first commit; they may have gaps */
  constructor(target: BackupTarget, base: Manifest, segments: readonly SegmentName[], end: WalkEnd) {
    const { position, last_commit_at: at = base.time, chain, chain_checksum } = base;
    this.#target = target;
    this.#segments = segments.filter((each) => each.chain === chain && each.last > position);
    this.#end = end;
    this.#checksum = chain_checksum;
    this.#reached = { position, at };
    this.#readTo = position;
  }

  /** The last commit so far. */
  get reached(): Reached {
    return this.#reached;
  }

  /** Whether the wanted commit, or a commit after the wanted moment, was found. Then nothing is missing before it. */
  get isComplete(): boolean {
    return this.#firstLater !== undefined || this.#reached.position === this.#end.position;
  }

  /** Throws BackupFailed if a segment is missing or damaged, or the times do not show which commits belong to the moment. */
  async *commits(): AsyncIterable<ReplayedCommits> {
    try {
      while (this.#reached.position < this.#end.position) {
        const segment = await this.#next();
        if (segment === undefined) return;
        const commits = this.#take(segment);
        if (commits.length > 0) yield { commits, size: segment.size };
      }
    } catch (error) {
      // After the wanted moment, further segments only show whether the clock was set back.
      const isOpen = !(error instanceof BackupFailed) || error.code === 'times_ambiguous';
      if (isOpen || this.#firstLater === undefined) throw error;
    }
  }

  async #next(): Promise<Segment | undefined> {
    const index = this.#findNext();
    const name = this.#segments[index ?? -1];
    if (index === undefined || name === undefined) return undefined;
    try {
      const segment = await this.#read(index);
      const { chain, first, last } = segment.head;
      if (chain !== name.chain || first !== name.first || last !== name.last)
        throw new BadSegment('has other commits than its name says');
      if (this.#checksum !== undefined && checksumAt(segment, this.#readTo) !== this.#checksum)
        throw new BadSegment('does not continue what is before it');
      this.#checksum = segment.head.after;
      return segment;
    } catch (error) {
      throw error instanceof BadSegment ? damagedSegment(name, error.message) : error;
    }
  }

  /**
   * Finds the segment that continues what was read. Two processes may have written the same commits: then it is the segment that goes
   * furthest. Undefined at the end. Throws BackupFailed if commits are missing.
   */
  #findNext(): number | undefined {
    let best: number | undefined;
    for (; ; this.#passed++) {
      const each = this.#segments[this.#passed];
      if (each === undefined || each.first > this.#readTo + 1) break;
      if (each.last > (this.#segments[best ?? -1]?.last ?? this.#readTo)) best = this.#passed;
    }
    const next = this.#segments[this.#passed];
    if (best === undefined && next !== undefined) throw missingSegments(this.#readTo, next.first - 1);
    return best;
  }

  /** Takes the wanted commits of a segment. */
  #take({ head, commits }: Segment): readonly CommitLine[] {
    const taken: CommitLine[] = [];
    for (const commit of commits.slice(this.#readTo + 1 - head.first)) {
      const [position, time] = commit;
      if (position > this.#end.position) this.#firstLater ??= position;
      else if (this.#end.at === Infinity) taken.push(commit);
      else if (time > this.#end.now + futureSlackMs) this.#open.push(commit);
      else if (time > this.#end.at) this.#firstLater ??= position;
      else {
        if (this.#firstLater !== undefined) throw ambiguousTimes(this.#firstLater, position);
        taken.push(...this.#open.splice(0), commit);
      }
    }
    this.#readTo = head.last;
    const [position, time] = taken.at(-1) ?? [];
    if (position !== undefined)
      this.#reached = { position, at: time ? new Date(time).toISOString() : this.#reached.at };
    return taken;
  }

  /** Reads a segment and the next ones concurrently, so that the delay of a distant target counts once. */
  async #read(index: number): Promise<Segment> {
    const ahead = this.#segments.slice(index, index + segmentsAheadMax).map(({ name }) => name);
    for (const name of ahead) {
      if (this.#reading.has(name)) continue;
      const reading = this.#get(name);
      // Nobody may await it.
      reading.catch(() => undefined);
      this.#reading.set(name, reading);
    }
    const [name = ''] = ahead;
    const found = this.#reading.get(name) as Promise<Segment>;
    for (const each of this.#reading.keys())
      if (each === name || !ahead.includes(each)) this.#reading.delete(each);
    return found;
  }

  async #get(name: string): Promise<Segment> {
    const bytes = await readSmall(this.#target, name, segmentBytesMax);
    if (bytes === undefined) throw new BadSegment('has gone from the target');
    return readSegment(bytes);
  }
}

/** The error for commits that no segment has. */
export function missingSegments(reached: number, last: number): BackupFailed {
  return new BackupFailed('segments_missing', `commits ${reached + 1} to ${last} are in no segment`);
}

function damagedSegment({ name, first, last }: SegmentName, what: string): BackupFailed {
  return new BackupFailed('segment_damaged', `${name} (commits ${first} to ${last}) ${what}`);
}

function ambiguousTimes(later: number, earlier: number): BackupFailed {
  return new BackupFailed(
    'times_ambiguous',
    `--at: the clock was set back: commit ${later} has a later time than --at, and commit ${earlier}, which follows it, an earlier ` +
      `one; restore --position ${later - 1} for the state before commit ${later}, or name another commit`,
  );
}

/** The running checksum after a commit that is in the segment, or directly before it. */
function checksumAt({ head, checksums }: Segment, position: number): string | undefined {
  return position === head.first - 1 ? head.before : checksums[position - head.first];
}
