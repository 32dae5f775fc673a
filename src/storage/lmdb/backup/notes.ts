import { readRecord, readSmall, recordBytes } from '../../../backup/small-files.ts';
import type { BackupTarget } from '../../../backup/target.ts';
import { type BackupPlace, comparePlaces, recordBytesMax } from './manifest.ts';

/**
 * Notes of a store at its target, beside backups and segments. They show that a file is missing: a listing alone does not show what is
 * gone from its end. Each store has one file of each kind, which the next note replaces.
 */

/** The newest backup that the store has made at the target. */
export interface NewestNote extends BackupPlace {
  readonly newest: typeof noteVersion;
  readonly store_id: string;
  /** The name of the backup. */
  readonly name: string;
  readonly timeline: number;
}

/**
 * The heartbeat of continuous backup: everything that the store acknowledged before a moment is at the target. It distinguishes a store
 * without new commits from one that no longer sends them.
 */
export interface Heartbeat {
  readonly heartbeat: typeof noteVersion;
  readonly store_id: string;
  readonly chain: string;
  /** The number of the last commit in a segment. */
  readonly position: number;
  /** The moment (RFC 3339), by the clock of the service. */
  readonly at: string;
}

const noteVersion = 1;
const heartbeatPattern = /^heartbeat-([\da-f]{8})\.json$/;

export async function noteNewest(target: BackupTarget, note: Omit<NewestNote, 'newest'>): Promise<void> {
  const before = await readNewest(target, note.store_id);
  if (before !== undefined && before !== 'damaged') {
    // A concurrent backup of the same store may have been faster.
    if (before.name === note.name || comparePlaces(before, note) > 0) return;
  }
  await target.replace(newestFile(note.store_id), recordBytes({ newest: noteVersion, ...note }));
}

export function readNewest(
  target: BackupTarget,
  storeId: string,
): Promise<NewestNote | 'damaged' | undefined> {
  return readNote<NewestNote>(target, newestFile(storeId), ({ newest }) => newest === noteVersion);
}

export async function sendHeartbeat(target: BackupTarget, beat: Omit<Heartbeat, 'heartbeat'>): Promise<void> {
  await target.replace(heartbeatFile(beat.store_id), recordBytes({ heartbeat: noteVersion, ...beat }));
}

export function readHeartbeat(
  target: BackupTarget,
  storeId: string,
): Promise<Heartbeat | 'damaged' | undefined> {
  return readNote<Heartbeat>(target, heartbeatFile(storeId), ({ heartbeat }) => heartbeat === noteVersion);
}

/** The id of the heartbeat's store; undefined if the file is no heartbeat. */
export function parseHeartbeatName(file: string): string | undefined {
  return heartbeatPattern.exec(file)?.[1];
}

export function newestFile(storeId: string): string {
  return `newest-${storeId}.json`;
}

export function heartbeatFile(storeId: string): string {
  return `heartbeat-${storeId}.json`;
}

async function readNote<Note>(
  target: BackupTarget,
  file: string,
  isOfThisVersion: (note: Partial<Note>) => boolean,
): Promise<Note | 'damaged' | undefined> {
  const bytes = await readSmall(target, file, recordBytesMax);
  if (bytes === undefined) return undefined;
  const found = readRecord(bytes) as Note | undefined;
  return found !== undefined && isOfThisVersion(found) ? found : 'damaged';
}
