import { closeSync, copyFileSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs';
import { pageBytes } from '../../../src/storage/lmdb/file/pages.ts';

/** One damage to a file, as a disk or an operator can do it. */
export type Damage =
  /** Inverts some bits of a byte. */
  | { readonly kind: 'byte'; readonly at: number; readonly bits: number }
  /** One page has the content of another. */
  | { readonly kind: 'replaced'; readonly page: number; readonly by: number }
  | { readonly kind: 'swapped'; readonly page: number; readonly by: number }
  | { readonly kind: 'zeroed'; readonly page: number }
  | { readonly kind: 'truncated'; readonly pages: number };

/** Copies a file, and damages the copy. */
export function copyDamaged(source: string, file: string, damage: Damage): void {
  copyFileSync(source, file);
  const descriptor = openSync(file, 'r+');
  try {
    inflict(descriptor, damage);
  } finally {
    closeSync(descriptor);
  }
}

function inflict(file: number, damage: Damage): void {
  if (damage.kind === 'truncated') ftruncateSync(file, damage.pages * pageBytes);
  else if (damage.kind === 'zeroed')
    writeSync(file, Buffer.alloc(pageBytes), 0, pageBytes, damage.page * pageBytes);
  else if (damage.kind === 'byte') {
    const byte = Buffer.alloc(1);
    readSync(file, byte, 0, 1, damage.at);
    byte.writeUInt8(byte.readUInt8() ^ damage.bits);
    writeSync(file, byte, 0, 1, damage.at);
  } else {
    const [page, by] = [pageOf(file, damage.page), pageOf(file, damage.by)];
    writeSync(file, by, 0, pageBytes, damage.page * pageBytes);
    if (damage.kind === 'swapped') writeSync(file, page, 0, pageBytes, damage.by * pageBytes);
  }
}

function pageOf(file: number, number: number): Buffer {
  const page = Buffer.alloc(pageBytes);
  readSync(file, page, 0, pageBytes, number * pageBytes);
  return page;
}
