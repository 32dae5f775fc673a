import type { Http } from './http.ts';
import { sendAgain } from './retry.ts';
import type { CallOptions } from './tables.ts';

/** A backup at the target, as its manifest describes it; what an unusable one does not say is null. */
export interface Backup {
  readonly name: string;
  /** `unusable`: its file is missing or has another size, or its manifest is damaged or of another version of the service. */
  readonly state: 'good' | 'unusable';
  readonly time: string | null;
  /** The number of the last commit in it. */
  readonly position: number | null;
  readonly last_commit_at: string | null;
  /** The store that it is of: a restored or copied store has another id. */
  readonly store_id: string | null;
  readonly items: number | null;
  readonly bytes: number | null;
}

export interface BackupReport {
  /** The service makes backups of `lmdb` only. */
  readonly store: 'lmdb' | 'dynamodb';
  /** A folder or `s3://bucket/prefix`; null if the settings have none, and then the rest is null too. */
  readonly target: string | null;
  /** In the syntax of cron. */
  readonly schedule: string | null;
  readonly next_at: string | null;
  /** How many backups stay. */
  readonly keep: number | null;
  /** The backup that the process which responds is making. */
  readonly running: { readonly since: string } | null;
  /** The newest good one of this store. */
  readonly newest: { readonly name: string; readonly time: string; readonly age_seconds: number } | null;
  /** Null if continuous backup is off. */
  readonly continuous: {
    readonly seconds: number;
    /** The numbers of the last commit in a segment, and of the last commit. */
    readonly position: number | null;
    readonly store_position: number | null;
    /** The age of the first commit that is in no segment; 0 without one. */
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
  /** The newest 100 by their commits, newest first, after those that are unusable and before those of other stores. */
  readonly backups: readonly Backup[];
}

/** The backups of the service. Needs a key with the scope `admin`. */
export class Backups {
  readonly #http: Http;

  /** @internal */
  constructor(http: Http) {
    this.#http = http;
  }

  /** The state of the backups, and what the target has. */
  async read({ signal }: CallOptions = {}): Promise<BackupReport> {
    return (await sendAgain<BackupReport>(this.#http, { method: 'GET', path: '/v3/backups', signal })).body;
  }

  /** Begins a backup; `read` shows when it is done. Throws `backup_running` while the process that responds makes one. */
  async make({ signal }: CallOptions = {}): Promise<void> {
    await sendAgain(this.#http, { method: 'POST', path: '/v3/backups', signal });
  }
}
