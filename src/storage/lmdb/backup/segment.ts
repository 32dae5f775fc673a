import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { constants, zstdCompress, zstdDecompress } from 'node:zlib';
import { readSmall } from '../../../backup/small-files.ts';
import type { BackupTarget } from '../../../backup/target.ts';
import { version } from '../../../version.ts';
import type { EntryText, SpaceEntry } from '../log/journal.ts';

/**
 * A segment: consecutive commits of the journal as lines of JSON, compressed by Zstandard. The first line is the head. Each other line is
 * a commit: its number, its time and its changes. The format does not depend on how the store keeps its journal.
 *
 * Each commit continues a running checksum: SHA-256 over the previous checksum and the line. So a segment that was altered, left out or
 * exchanged does not fit its neighbours, however the commits are divided into segments.
 */
interface SegmentHead {
  readonly segment: typeof segmentVersion;
  readonly chain: string;
  readonly store_id: string;
  readonly first: number;
  readonly last: number;
  /** When the last commit was made (RFC 3339). */
  readonly until: string;
  /** The running checksum before the first commit, and after the last one. */
  readonly before: string;
  readonly after: string;
  readonly service_version: string;
}

/** A commit in a segment. The time is in milliseconds since 1970. */
export type CommitLine = readonly [commit: number, at: number, spaces: readonly SpaceEntry[]];

export interface Segment {
  readonly head: SegmentHead;
  readonly commits: readonly CommitLine[];
  /** The running checksum after each commit. */
  readonly checksums: readonly string[];
  /** The size in characters. */
  readonly size: number;
}

const segmentVersion = 1;
/** Bytes of a segment as text: the size at which it is closed, and one more commit of the greatest size. A character may have three bytes. */
export const segmentBytesMax = 128 * 1024 * 1024;
/** The running checksum at the beginning of a chain. */
export const noChecksum = '0'.repeat(64);

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

/** Collects commits for a segment. */
export class SegmentDraft {
  readonly #lines: string[] = [];
  #size = 0;
  #last: EntryText | undefined;
  #first = 0;
  #checksum: string;
  readonly #before: string;

  /** @param before the running checksum before the first commit */
  constructor(before: string) {
    this.#before = before;
    this.#checksum = before;
  }

  add(entry: EntryText): void {
    const { commit, at, spaces } = entry;
    const line = commitLine(commit, at, spaces);
    if (this.#last === undefined) this.#first = commit;
    this.#last = entry;
    this.#lines.push(line);
    this.#size += line.length;
    this.#checksum = continueChecksum(this.#checksum, line);
  }

  /** The size in characters. */
  get size(): number {
    return this.#size;
  }

  get checksum(): string {
    return this.#checksum;
  }

  /** The number of its last commit; undefined while it is empty. */
  get last(): number | undefined {
    return this.#last?.commit;
  }

  /** @param store the id of the store */
  async finish(chain: string, store: string): Promise<{ readonly name: string; readonly bytes: Buffer }> {
    const [first, last] = [this.#first, this.last ?? 0];
    const head: SegmentHead = {
      ...{ segment: segmentVersion, chain, store_id: store, first, last },
      until: new Date(this.#last?.at ?? Date.now()).toISOString(),
      ...{ before: this.#before, after: this.#checksum, service_version: version },
    };
    const text = `${[JSON.stringify(head), ...this.#lines].join('\n')}\n`;
    const params = { [constants.ZSTD_c_compressionLevel]: 1, [constants.ZSTD_c_checksumFlag]: 1 };
    return { name: segmentName({ chain, first, last }), bytes: await compress(text, { params }) };
  }
}

/** Something is wrong with a segment. The message says what, without naming the segment. */
export class BadSegment extends Error {}

/** Reads a segment and checks it by its checksums. Throws BadSegment. */
export async function readSegment(bytes: Buffer): Promise<Segment> {
  const text = await decompressText(bytes);
  const [head, ...lines] = splitLines(text);
  const { segment, first, last, before, after } = head as SegmentHead;
  if (segment !== segmentVersion) throw new BadSegment('is of another version, or is no segment');
  const commits: CommitLine[] = [];
  const checksums: string[] = [];
  let checksum = before;
  for (const line of lines as readonly string[]) {
    checksum = continueChecksum(checksum, line);
    checksums.push(checksum);
    commits.push(parseLine(line) as CommitLine);
    if (commits.at(-1)?.[0] !== first + commits.length - 1) throw new BadSegment('has commits out of order');
  }
  if (checksum !== after || first + commits.length - 1 !== last)
    throw new BadSegment('was altered: its commits have another checksum');
  return { head: head as SegmentHead, commits, checksums, size: text.length };
}

/** Reads a segment from a target; undefined if it is missing, torn or altered. */
export async function readIntactSegment(target: BackupTarget, name: string): Promise<Segment | undefined> {
  const bytes = await readSmall(target, name, segmentBytesMax);
  return bytes && readSegment(bytes).catch(() => undefined);
}

async function decompressText(bytes: Buffer): Promise<string> {
  try {
    return (await decompress(bytes, { maxOutputLength: segmentBytesMax })).toString();
  } catch (error) {
    throw new BadSegment(`is torn or was altered (${(error as NodeJS.ErrnoException).code})`);
  }
}

function splitLines(text: string): readonly [head: unknown, ...lines: string[]] {
  if (!text.endsWith('\n')) throw new BadSegment('is torn: its last line is not complete');
  const [head = '', ...lines] = text.slice(0, -1).split('\n');
  return [parseLine(head) ?? {}, ...lines];
}

function parseLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw new BadSegment('was altered: a line is no JSON');
  }
}

/** The running checksum after one more commit. */
export function checksumAfter(checksum: string, { commit, at, spaces }: EntryText): string {
  return continueChecksum(checksum, commitLine(commit, at, spaces));
}

function commitLine(commit: number, at: number, spaces: string): string {
  return `[${commit},${at},${spaces}]`;
}

function continueChecksum(checksum: string, line: string): string {
  return hash('sha256', checksum + line);
}

/** The facts in the name of a segment: a listing is enough to know which segments follow a backup. */
export interface SegmentName {
  readonly name: string;
  readonly chain: string;
  /** The numbers of its first and last commit. */
  readonly first: number;
  readonly last: number;
}

const segmentPattern = /^journal-([\da-f]{12})-(\d{15})-(\d{15})\.zst$/;

function segmentName({ chain, first, last }: Omit<SegmentName, 'name'>): string {
  const [from, to] = [first, last].map((number) => String(number).padStart(15, '0'));
  return `journal-${chain}-${from}-${to}.zst`;
}

/** Undefined if the file is no segment. */
export function parseSegmentName(name: string): SegmentName | undefined {
  const [, chain, first, last] = segmentPattern.exec(name) ?? [];
  return chain === undefined ? undefined : { name, chain, first: Number(first), last: Number(last) };
}
