import type { BackupFailure } from '../../backup/target.ts';
import type { Settings } from '../../settings/schema.ts';
import type { ArchiveProgress, DescribedBackups, LastFailure } from './adapters.ts';

/** The messages between the threads and processes of backups. */

/** What to back up, and how. */
export interface BackupPlan {
  /** The store's file. */
  readonly file: string;
  readonly backup: Settings['backup'] & { readonly target: string };
}

export type BackupEvent =
  /** The newest good backup, in milliseconds since 1970; undefined if there is none. */
  | { readonly kind: 'newest'; readonly madeAt: number | undefined }
  /** A backup has begun; `made` or `failed` follows. */
  | { readonly kind: 'began' }
  | { readonly kind: 'made'; readonly name: string; readonly madeAt: number }
  /** All commits before this moment are in segments. */
  | { readonly kind: 'archived'; readonly upTo: number }
  /** A new chain of segments begins, for this reason. */
  | { readonly kind: 'chain'; readonly reason: string }
  | { readonly kind: 'failed'; readonly what: BackupKind; readonly code: string; readonly message: string }
  /** Another process makes the backups. */
  | { readonly kind: 'not_owner' }
  /** The answer to `look`. */
  | { readonly kind: 'looked'; readonly found: BackupsFound };

/** The state of the backups, by the store and the target. */
export interface BackupsFound {
  /** Why something could not be read, as a sentence. */
  readonly problem: string | undefined;
  /** The id of the store that this process has open. */
  readonly storeId?: string;
  readonly backups?: DescribedBackups;
  readonly progress?: ArchiveProgress;
  readonly lastFailure?: LastFailure | undefined;
}

export type BackupKind = 'snapshot' | 'continuous';

/**
 * A request to the agent. `make`: make a backup now, unless one is being made. `look`: send `looked` with the backups at the target.
 * `stop`: send the last commits to the target, and end.
 */
export type BackupRequest = 'make' | 'look' | 'stop';

/** The result of the process that makes one backup. */
export type SnapshotResult =
  | { readonly name: string; readonly madeAt: number }
  | { readonly code: BackupFailure | 'internal' | 'invalid_settings'; readonly message: string };
