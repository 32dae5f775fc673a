import { type BackupTarget, readSmall } from '../../../backup/target.ts';
import { segmentBytesMax, segmentsAheadMax } from './limits.ts';
import { damagedSegment, gap, type Plan, type Reached, segmentAfter } from './plan.ts';
import { BadSegment, type CommitLine, readSegment, type Segment } from './segment.ts';
import type { SegmentName } from './segment-name.ts';

/** The commits of some segments in a row. */
export interface Commits {
  readonly commits: readonly CommitLine[];
  /** Characters, about. */
  readonly size: number;
}

/** Goes through the commits that follow a backup, segment by segment, and proves that none is missing. */
export class Walk {
  readonly #target: BackupTarget;
  readonly #plan: Plan;
  readonly #until: number;
  readonly #reading = new Map<string, Promise<Segment>>();
  #reached: Reached;
  /** The running checksum after the last commit; unknown after a backup of an earlier version. */
  #checksum: string | undefined;

  /** @param until milliseconds since 1970: later commits are left out */
  constructor(target: BackupTarget, plan: Plan, until = Infinity) {
    this.#target = target;
    this.#plan = plan;
    this.#until = until;
    const { position, last_commit_at: at = plan.manifest.time, chain_checksum } = plan.manifest;
    this.#checksum = chain_checksum;
    this.#reached = { position, at };
  }

  /** The last commit so far. */
  get reached(): Reached {
    return this.#reached;
  }

  /** Throws BackupFailed when a segment is missing or damaged, unless everything of the wanted moment is already there. */
  async *commits(): AsyncIterable<Commits> {
    try {
      for (;;) {
        const segment = await this.#next();
        if (segment === undefined) break;
        const { commits, isEnd } = this.#upToMoment(segment);
        yield { commits, size: segment.size };
        const [position, time] = commits.at(-1) ?? [this.#reached.position];
        this.#reached = { position, at: time ? new Date(time).toISOString() : this.#reached.at };
        if (isEnd) return;
      }
      this.#checkEnd();
    } catch (error) {
      if (Date.parse(this.#reached.at) < this.#until) throw error;
    }
  }

  async #next(): Promise<Segment | undefined> {
    const name = segmentAfter(this.#plan.segments, this.#reached);
    if (name === undefined) return undefined;
    try {
      const segment = await this.#read(name);
      const { chain, first, last } = segment.head;
      if (chain !== name.chain || first !== name.first || last !== name.last)
        throw new BadSegment('has other commits than its name says');
      if (this.#checksum !== undefined && checksumAt(segment, this.#reached.position) !== this.#checksum)
        throw new BadSegment('does not continue what is before it');
      this.#checksum = segment.head.after;
      return segment;
    } catch (error) {
      throw error instanceof BadSegment ? damagedSegment(name, error.message, this.#reached) : error;
    }
  }

  /** The commits behind the position, and whether one of them is later than the moment: then all before are known. */
  #upToMoment({ head, commits }: Segment): {
    readonly commits: readonly CommitLine[];
    readonly isEnd: boolean;
  } {
    const following = commits.slice(this.#reached.position + 1 - head.first);
    const end = following.findIndex(([, time]) => (time ?? 0) > this.#until);
    return end < 0 ? { commits: following, isEnd: false } : { commits: following.slice(0, end), isEnd: true };
  }

  /** Between two backups of a store the segments have every commit, or the state of the moment is not known. */
  #checkEnd(): void {
    const { next } = this.#plan;
    const isMissing = next !== undefined && next.position > this.#reached.position;
    if (this.#until < Infinity && isMissing) throw gap(this.#reached, next.position);
  }

  /** Reads a segment, and meanwhile those behind it, so that the delay of a distant target counts once. */
  async #read(segment: SegmentName): Promise<Segment> {
    const { segments } = this.#plan;
    const from = segments.indexOf(segment);
    for (const { name } of segments.slice(from, from + segmentsAheadMax)) {
      if (this.#reading.has(name)) continue;
      const reading = this.#get(name);
      // It may never be awaited.
      reading.catch(() => undefined);
      this.#reading.set(name, reading);
    }
    const found = this.#reading.get(segment.name) as Promise<Segment>;
    for (const { name } of segments.slice(0, from + 1)) this.#reading.delete(name);
    return found;
  }

  async #get(name: string): Promise<Segment> {
    const bytes = await readSmall(this.#target, name, segmentBytesMax);
    if (bytes === undefined) throw new BadSegment('has gone from the target');
    return readSegment(bytes);
  }
}

/** The running checksum after a commit that is in the segment, or in front of it. */
function checksumAt({ head, checksums }: Segment, position: number): string | undefined {
  return position === head.first - 1 ? head.before : checksums[position - head.first];
}
