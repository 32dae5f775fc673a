import { chmodSync, statSync } from 'node:fs';

/** Which file it is, as the store notes it: a copy of the store is another file, and says so. */
export interface FileIdentity {
  readonly inode: string;
  /** Nanoseconds since 1970. Where the file system does not keep it, the time of the last change. */
  readonly bornAt: string;
}

export function identityOf(file: string): FileIdentity {
  const { ino, birthtimeNs } = statSync(file, { bigint: true });
  return { inode: String(ino), bornAt: String(birthtimeNs) };
}

/** An inode is used again after its file was removed, so the time of birth counts too, where the file system keeps it. */
export function isFile(file: string, noted: FileIdentity): boolean {
  const { inode, bornAt } = identityOf(file);
  return inode === noted.inode && (bornAt === noted.bornAt || !keepsBirth(file));
}

/** Node.js reports the last change for a missing time of birth: then a change of the file's mode, even to the same one, moves it. */
function keepsBirth(file: string): boolean {
  const before = statSync(file, { bigint: true });
  if (before.birthtimeNs !== before.ctimeNs) return true;
  chmodSync(file, Number(before.mode & 0o7777n));
  return statSync(file, { bigint: true }).birthtimeNs === before.birthtimeNs;
}
