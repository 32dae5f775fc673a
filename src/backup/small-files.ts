import { hash } from 'node:crypto';
import { BackupFailed, type BackupTarget } from './target.ts';

/**
 * Small JSON files at a target. A checksum shows every altered byte: the field `record_checksum` is the SHA-256 of the other fields, as
 * compact JSON in their order.
 */

const checksumKey = 'record_checksum';

/** The file of a record, for people and programs that read JSON. */
export function recordBytes(fields: object): Buffer {
  const record = { ...fields, [checksumKey]: recordChecksum(fields) };
  return Buffer.from(`${JSON.stringify(record, undefined, 2)}\n`);
}

/** The fields of a record; undefined if the bytes are no record, or were altered. */
export function readRecord(bytes: Buffer): Readonly<Record<string, unknown>> | undefined {
  try {
    const { [checksumKey]: checksum, ...fields } = JSON.parse(bytes.toString());
    return checksum === recordChecksum(fields) ? fields : undefined;
  } catch {
    // It is not JSON, or `null`.
    return undefined;
  }
}

function recordChecksum(fields: object): string {
  return hash('sha256', JSON.stringify(fields));
}

/** Concurrent requests for small objects: enough to hide the delay of each. */
export const requestsAtOnceMax = 16;

/** Maps items with limited concurrency. Rejects with the first error. @returns the results in the order of `all` */
export async function mapWithConcurrency<Each, Result>(
  all: readonly Each[],
  atOnceMax: number,
  work: (each: Each) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  const worker = async () => {
    while (next < all.length) {
      const index = next++;
      results[index] = await work(all[index] as Each);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnceMax, all.length) }, worker));
  return results;
}

/** Reads a whole small file; undefined if there is none. Throws BackupFailed if it has more than `bytesMax` bytes. */
export async function readSmall(
  target: BackupTarget,
  name: string,
  bytesMax: number,
): Promise<Buffer | undefined> {
  const pieces = await target.get(name);
  if (pieces === undefined) return undefined;
  const read: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of pieces) {
    bytes += piece.length;
    if (bytes > bytesMax)
      throw new BackupFailed('target_unusable', `${target.name}: ${name} has more than ${bytesMax} bytes`);
    read.push(piece);
  }
  return Buffer.concat(read);
}
