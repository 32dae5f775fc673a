import { closeSync, openSync, readSync, writeSync } from 'node:fs';

/** In LMDB's lock file: the number of the last transaction. */
const numberAt = 8;

/**
 * Sets the number in a store's lock file back, as if its last transactions had written their meta pages and not advanced it. Call it in a
 * process that does not have the store open: closing the file releases the locks of the process on it.
 */
export function setNumberBack(storeFile: string, by: bigint): void {
  const file = openSync(`${storeFile}-lock`, 'r+');
  const number = numberIn(file);
  number.writeBigUInt64LE(number.readBigUInt64LE() - by);
  writeSync(file, number, 0, number.length, numberAt);
  closeSync(file);
}

/** The number of the last transaction. As with `setNumberBack`, call it in a process that does not have the store open. */
export function lastNumber(storeFile: string): bigint {
  const file = openSync(`${storeFile}-lock`, 'r');
  const number = numberIn(file).readBigUInt64LE();
  closeSync(file);
  return number;
}

function numberIn(file: number): Buffer {
  const number = Buffer.alloc(8);
  readSync(file, number, 0, number.length, numberAt);
  return number;
}
