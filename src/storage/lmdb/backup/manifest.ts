import { readRecord, readSmall, recordBytes } from '../../../backup/small-files.ts';
import type { BackupTarget } from '../../../backup/target.ts';
import { manifestBytesMax } from './limits.ts';

/** What a backup says of itself, in `NAME.json` beside `NAME.mdb`. A backup without one does not exist. */
export interface Manifest {
  /** The version of these fields. */
  readonly manifest: typeof manifestVersion;
  readonly name: string;
  /** When the snapshot was about to be taken (RFC 3339): everything that was durable then is in the backup. */
  readonly time: string;
  /** The number of the last commit in the snapshot. */
  readonly position: number;
  /** When that commit was made (RFC 3339); missing if the store does not know. */
  readonly last_commit_at?: string;
  /** The id of the store. A restored or copied store has another one. */
  readonly store_id: string;
  /**
   * Which history of the store the backup is from, counted from 0. The number goes up when a backup finds commits at the target that
   * the store lacks, because the whole machine was set back.
   */
  readonly timeline: number;
  /** The chain of segments that continues it; missing if the store has no continuous backup. */
  readonly chain?: string;
  /** The running checksum of that chain at `position`: the segments that continue it begin with this one. Missing as the chain may be. */
  readonly chain_checksum?: string;
  /** Items by kind: `tables`, `table_items`, and each space of the service that has any. */
  readonly counts: Readonly<Record<string, number>>;
  /** The processor accounts and modes that the store has ever charged with: after a restore the records of each must be read. */
  readonly accounts: readonly ManifestAccount[];
  readonly file: string;
  readonly bytes: number;
  /** Of the file, in hexadecimal. */
  readonly sha256: string;
  /** Of the service that made it. */
  readonly service_version: string;
  readonly store_format: number;
}

export interface ManifestAccount {
  readonly processor: string;
  /** Missing if the key of the processor may not read it. */
  readonly account?: string;
  readonly mode?: 'live' | 'test';
}

export const manifestVersion = 1;
const namePattern = /^counterfoil-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z$/;

/** The file of a manifest. */
export function manifestBytes(manifest: Manifest): Buffer {
  return recordBytes(manifest);
}

/** Names have the time at which the backup was made, by a clock that may have been wrong: they order nothing. @param now milliseconds since 1970 */
export function nameAt(now: number): string {
  return `counterfoil-${new Date(now).toISOString().replaceAll(/[:.]/g, '-')}`;
}

export function dataFile(name: string): string {
  return `${name}.mdb`;
}

export function manifestFile(name: string): string {
  return `${name}.json`;
}

/** The backup to which a file of the target folder belongs; undefined if it is not ours. */
export function backupName(file: string): string | undefined {
  const name = file.replace(/\.(mdb|json)$/, '');
  return name !== file && namePattern.test(name) ? name : undefined;
}

/** Reads a manifest; undefined when there is none, it was altered, or it is not one of this version. The file of the backup may be missing. */
export async function readManifest(target: BackupTarget, name: string): Promise<Manifest | undefined> {
  if (!namePattern.test(name)) return undefined;
  const text = await readSmall(target, manifestFile(name), manifestBytesMax);
  const manifest = (text && readRecord(text)) as Manifest | undefined;
  if (manifest?.manifest !== manifestVersion || manifest.name !== name) return undefined;
  if (manifest.file !== dataFile(name) || Number.isNaN(Date.parse(manifest.time))) return undefined;
  return manifest;
}

/** Whether a text is the name of a backup. */
export function isName(text: string): boolean {
  return namePattern.test(text);
}
