import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { flush, putInPlace } from '../../../backup/files.ts';
import { BackupFailed, type BackupTarget, readSmall } from '../../../backup/target.ts';
import { DamagedStoreError, SettingsError } from '../../../errors.ts';
import type { Engine } from '../../engine.ts';
import { openLmdbEngine, storeFile } from '../open.ts';
import { renewStoreId } from '../restored.ts';
import { type Progress, verifyStore } from '../verify.ts';
import { writeChecked } from './checksum.ts';
import { segmentBytesMax, segmentsAheadMax } from './limits.ts';
import type { Manifest } from './manifest.ts';
import { gap, type Plan, planRestore, segmentAfter, type Wanted } from './plan.ts';
import { Replay } from './replay.ts';
import { BadSegment, readSegment, type Segment } from './segment.ts';
import type { SegmentName } from './segment-name.ts';

export interface RestoreOptions extends Wanted {
  /** Names of files that the folder may hold: they belong to somebody else. */
  readonly others: readonly string[];
  /** Changes the restored store before it is put in place. */
  readonly prepare: (engine: Engine, restored: Restored) => Promise<void>;
  readonly progress?: Progress;
}

export interface Restored {
  /** Of the backup that it began with. */
  readonly manifest: Manifest;
  /** The last commit, and when it was made (RFC 3339), or when the backup was. */
  readonly position: number;
  readonly at: string;
  /** Commits from segments. */
  readonly replayed: number;
}

/** Within the data folder, so that the last step is a rename; a killed restore leaves it, and the next one removes it. */
const draftName = 'restoring';

/**
 * Puts a backup, and the commits of the segments after it, into an empty data folder. Until its checksums and content are proven and it
 * is prepared, the folder has no store, whenever the process is killed. Throws SettingsError if there is no such backup or the folder
 * is not empty, DamagedStoreError if the backup is damaged, and BackupFailed if a segment is missing or damaged.
 */
export async function restoreBackup(
  target: BackupTarget,
  folder: string,
  { others, prepare, progress, ...wanted }: RestoreOptions,
): Promise<Restored> {
  checkIsEmpty(folder, others);
  const plan = await planRestore(target, wanted);
  const draft = join(folder, draftName);
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { recursive: true, mode: 0o700 });
  try {
    const copy = storeFile(draft);
    await download(target, plan.manifest, copy);
    const restored = await replay(target, copy, plan, wanted.at);
    const { problems } = await verifyStore(copy, progress);
    if (problems.length > 0)
      throw new DamagedStoreError(problems.map((problem) => `${plan.manifest.name}: ${problem}`));
    await renewStoreId(copy);
    const engine = openLmdbEngine(draft);
    await prepare(engine, restored).finally(() => engine.close());
    flush(copy);
    putInPlace(copy, storeFile(folder));
    return restored;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

async function download(target: BackupTarget, { name, file, sha256 }: Manifest, copy: string): Promise<void> {
  const bytes = await target.get(file);
  if (bytes === undefined) throw new DamagedStoreError([`${name}: its file has gone from ${target.name}`]);
  if ((await writeChecked(bytes, copy)) !== sha256)
    throw new DamagedStoreError([`${name}: its file has another checksum than its manifest`]);
}

/** Makes the commits of the segments, up to a moment. */
async function replay(
  target: BackupTarget,
  copy: string,
  { manifest, segments, next }: Plan,
  until = Infinity,
): Promise<Restored> {
  const store = new Replay(copy);
  const { position, last_commit_at: at = manifest.time } = manifest;
  let reached = { position, at };
  let checksum: string | undefined;
  let isProven = false;
  const ahead = new ReadAhead(target, segments);
  try {
    for (;;) {
      const name = segmentAfter(segments, reached);
      if (name === undefined || isProven) break;
      const segment = await ahead.read(name).catch((error: unknown) => {
        throw error instanceof BadSegment ? bad(name, error, reached.at) : error;
      });
      if (checksum !== undefined && checksumAt(segment, reached.position) !== checksum)
        throw bad(name, new BadSegment('does not continue the one before it'), reached.at);
      checksum = segment.head.after;
      const following = segment.commits.slice(reached.position + 1 - segment.head.first);
      const end = following.findIndex(([, time]) => (time ?? 0) > until);
      isProven = end >= 0;
      const commits = isProven ? following.slice(0, end) : following;
      store.add(commits, segment.size);
      const [last, time] = commits.at(-1) ?? [reached.position];
      reached = { position: last, at: time ? new Date(time).toISOString() : reached.at };
    }
    // Between two backups of a store the segments have every commit, or the state of the moment is not known.
    if (until < Infinity && !isProven && next !== undefined && next.position > reached.position)
      throw gap(reached, next.position);
    await store.finish();
    return { manifest, ...reached, replayed: reached.position - position };
  } catch (error) {
    await store.close();
    throw error;
  }
}

function bad({ name, first, last }: SegmentName, { message }: BadSegment, before: string): BackupFailed {
  return new BackupFailed(
    'segment_damaged',
    `${name} (commits ${first} to ${last}) ${message}; restore --at ${before} for the state before it`,
  );
}

/** The running checksum after a commit that is in the segment, or in front of it. */
function checksumAt({ head, checksums }: Segment, position: number): string | undefined {
  return position === head.first - 1 ? head.before : checksums[position - head.first];
}

/** Reads segments, and meanwhile those behind them, so that the delay of a distant target counts once. */
class ReadAhead {
  readonly #target: BackupTarget;
  readonly #segments: readonly SegmentName[];
  readonly #reading = new Map<string, Promise<Segment>>();

  constructor(target: BackupTarget, segments: readonly SegmentName[]) {
    this.#target = target;
    this.#segments = segments;
  }

  read(segment: SegmentName): Promise<Segment> {
    const from = this.#segments.indexOf(segment);
    for (const { name } of this.#segments.slice(from, from + segmentsAheadMax)) {
      if (this.#reading.has(name)) continue;
      const reading = this.#get(name);
      // It may never be awaited.
      reading.catch(() => undefined);
      this.#reading.set(name, reading);
    }
    const found = this.#reading.get(segment.name) as Promise<Segment>;
    for (const { name } of this.#segments.slice(0, from + 1)) this.#reading.delete(name);
    return found;
  }

  async #get(name: string): Promise<Segment> {
    const bytes = await readSmall(this.#target, name, segmentBytesMax);
    if (bytes === undefined) throw new BadSegment('has gone from the target');
    return readSegment(bytes);
  }
}

function checkIsEmpty(folder: string, others: readonly string[]): void {
  const found = existsSync(folder) ? readdirSync(folder) : [];
  const [first] = found.filter((name) => name !== draftName && !others.includes(name));
  if (first !== undefined)
    throw new SettingsError([
      `data (COUNTERFOIL_DATA): ${folder} is not empty (${first}); restore into an empty folder`,
    ]);
}
