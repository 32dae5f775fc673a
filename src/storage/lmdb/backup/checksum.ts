import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { readBytesMax } from './limits.ts';

/** The SHA-256 of a file in hexadecimal. @param rest called after each step */
export async function checksumOf(path: string, rest: () => void = () => undefined): Promise<string> {
  const hash = createHash('sha256');
  for await (const bytes of createReadStream(path, { highWaterMark: readBytesMax })) {
    hash.update(bytes);
    rest();
  }
  return hash.digest('hex');
}

/** Writes bytes to a new file, flushed. @returns their SHA-256 in hexadecimal */
export async function writeChecked(pieces: AsyncIterable<Uint8Array>, path: string): Promise<string> {
  const hash = createHash('sha256');
  const file = await open(path, 'wx', 0o600);
  try {
    for await (const bytes of pieces) {
      hash.update(bytes);
      await file.writeFile(bytes);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return hash.digest('hex');
}
