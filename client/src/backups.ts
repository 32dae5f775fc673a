import type { Http } from './http.ts';
import { sendAgain } from './retry.ts';
import type { CallOptions } from './tables.ts';

/** A backup at the target, as its manifest describes it. Fields that an unusable backup lacks are null. */
export interface Backup {
  readonly name: string;
  /**
   * `unusable`: the file is missing or has another size, or the manifest is damaged or belongs to another version of
   * the service.
   */
  readonly state: 'good' | 'unusable';
  readonly time: string | null;
  /** The number of the last commit in the backup. */
  readonly position: number | null;
  readonly last_commit_at: string | null;
  /** The id of the store that was backed up. A restored or copied store has another id. */
  readonly store_id: string | null;
  readonly items: number | null;
  readonly bytes: number | null;
}

export interface BackupReport {
  /** The service makes backups of `lmdb` only. */
  readonly store: 'lmdb' | 'dynamodb';
  /** A folder or `s3://bucket/prefix`. Null if the settings have no target; then the other fields are null too. */
  readonly target: string | null;
  /** When backups are made, in the syntax of cron. */
  readonly schedule: string | null;
  readonly next_at: string | null;
  /** How many backups are kept. */
  readonly keep: number | null;
  /** The backup that the responding process is making. */
  readonly running: { readonly since: string } | null;
  /** The newest good backup of this store. */
  readonly newest: { readonly name: string; readonly time: string; readonly age_seconds: number } | null;
  /** Null if continuous backup is off. */
  readonly continuous: {
    readonly seconds: number;
    /** The numbers of the last commit in a segment, and of the last commit. */
    readonly position: number | null;
    readonly store_position: number | null;
    /** The age of the first commit that is in no segment; 0 if all commits are in segments. */
    readonly lag_seconds: number | null;
  } | null;
  readonly last_failure: {
    readonly at: string;
    readonly what: 'snapshot' | 'continuous';
    readonly code: string;
    readonly message: string;
  } | null;
  /** Why the target cannot be listed now; then `total` is null. */
  readonly problem: string | null;
  readonly total: number | null;
  /**
   * At most 100 backups: first the unusable ones, then those of this store, newest first, then those of other stores.
   */
  readonly backups: readonly Backup[];
}

/** The backups of the service. Needs a key with the scope `admin`. */
export class Backups {
  readonly #http: Http;

  /** @internal */
  constructor(http: Http) {
    this.#http = http;
  }

  /** The state of the backups, and the backups at the target. */
  async read({ signal }: CallOptions = {}): Promise<BackupReport> {
    return (await sendAgain<BackupReport>(this.#http, { method: 'GET', path: '/v3/backups', signal })).body;
  }

  /**
   * Begins a backup; `read` shows when it is done. Throws `backup_running` while the responding process makes a backup.
   */
  async make({ signal }: CallOptions = {}): Promise<void> {
    await sendAgain(this.#http, { method: 'POST', path: '/v3/backups', signal });
  }
}
