/**
 * The port to a place for backups: named files in one flat folder or under one prefix. A name consists of letters, digits, `.` and `-`.
 * Every method may throw BackupFailed, whose message is a sentence that names the target.
 */
export interface BackupTarget {
  /** The target as the operator wrote it. */
  readonly name: string;
  /**
   * A folder on the file system of the target. `putFile` renames a file that is in it. Undefined for a distant target, to which files are
   * copied.
   */
  readonly drafts: string | undefined;

  /** Prepares the target for writing: makes a missing folder, but not its parents. A bucket must exist. */
  prepare(): Promise<void>;

  /** The files, sorted by name. The list of a distant target may be late: recent writes may be missing, and recent deletions still listed. */
  list(): Promise<readonly TargetFile[]>;

  /** Whether no process can still be working on a file that no manifest lists. */
  isAbandoned(file: TargetFile): boolean;

  /** The current size of a file in bytes; undefined if there is no such file. */
  sizeOf(name: string): Promise<number | undefined>;

  /** The bytes of a file in pieces; undefined if there is no such file. */
  get(name: string): Promise<AsyncIterable<Uint8Array> | undefined>;

  /**
   * Writes a small file whole or not at all; durable when it resolves. @returns `exists` if there is a file of this name, which stays. A
   * target without conditional writes replaces the file.
   */
  put(name: string, bytes: Uint8Array): Promise<'written' | 'exists'>;

  /** Writes a small file whole or not at all, and replaces a file of this name; durable when it resolves. */
  replace(name: string, bytes: Uint8Array): Promise<void>;

  /** Moves or copies a flushed local file to the target, whole or not at all, with bounded memory; durable when it resolves. */
  putFile(name: string, path: string): Promise<void>;

  /** Deletes files. A missing one is no error. */
  remove(names: readonly string[]): Promise<void>;

  close(): void;
}

export interface TargetFile {
  readonly name: string;
  readonly bytes: number;
  /** Milliseconds since 1970, by the clock of the target. */
  readonly writtenAt: number;
}

export type BackupFailure =
  | 'target_full'
  | 'target_unusable'
  /** The target belongs to another store. */
  | 'target_owned'
  | 'copy_damaged'
  | 'several_stores'
  | 'backup_missing'
  | 'backup_damaged'
  | 'segments_missing'
  | 'segment_damaged'
  /** The target ends before the wanted moment or commit. */
  | 'ends_earlier'
  /** The times of the commits do not say which of them belong to the wanted moment. */
  | 'times_ambiguous';

/** A backup could not be made or read; the message is a sentence. */
export class BackupFailed extends Error {
  readonly code: BackupFailure;

  constructor(code: BackupFailure, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'BackupFailed';
    this.code = code;
  }
}

const full: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

/** Turns an error of the system into a sentence about the target. Other errors stay as they are. */
export function asBackupFailure(error: unknown, target: string): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (error instanceof BackupFailed) return error;
  if (full.has(code)) return new BackupFailed('target_full', `${target}: the disk is full`, error);
  if (syscall !== undefined)
    return new BackupFailed('target_unusable', `${target}: cannot be read or written (${code})`, error);
  return error;
}
