import type { BackupFailure } from '../../backup/target.ts';
import type { Settings } from '../../settings/schema.ts';
import type { ArchiveProgress, DescribedBackups, LastFailure } from './adapters.ts';

/** What the threads and processes of backups send each other. */

/** What a backup is made of. */
export interface BackupPlan {
  /** Of the store. */
  readonly file: string;
  readonly backup: Settings['backup'] & { readonly target: string };
}

export type BackupEvent =
  /** The newest good backup, in milliseconds since 1970; undefined if there is none. */
  | { readonly kind: 'newest'; readonly madeAt: number | undefined }
  /** A backup is being made; `made` or `failed` follows. */
  | { readonly kind: 'began' }
  | { readonly kind: 'made'; readonly name: string; readonly madeAt: number }
  /** Everything that was committed before this moment is in segments. */
  | { readonly kind: 'shipped'; readonly upTo: number }
  /** A new chain of segments begins, for this reason. */
  | { readonly kind: 'chain'; readonly reason: string }
  | { readonly kind: 'failed'; readonly what: BackupKind; readonly code: string; readonly message: string }
  /** Another process makes the backups. */
  | { readonly kind: 'not_owner' }
  /** The answer to `look`. */
  | { readonly kind: 'looked'; readonly found: BackupsFound };

/** What the store and the target say of the backups. */
export interface BackupsFound {
  /** Why something of it could not be read: a sentence. */
  readonly problem: string | undefined;
  /** The id of the store that this process has open. */
  readonly storeId?: string;
  readonly backups?: DescribedBackups;
  readonly progress?: ArchiveProgress;
  readonly lastFailure?: LastFailure | undefined;
}

export type BackupKind = 'snapshot' | 'continuous';

/**
 * What the agent is asked for. `make`: a backup now, unless one is being made. `look`: what is at the target; it answers with
 * `looked`. `stop`: it sends the last commits and ends.
 */
export type BackupRequest = 'make' | 'look' | 'stop';

/** What the process of one backup sends back. */
export type SnapshotResult =
  | { readonly name: string; readonly madeAt: number }
  | { readonly code: BackupFailure | 'internal' | 'invalid_settings'; readonly message: string };
