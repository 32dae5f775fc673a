import type { Transform } from 'node:stream';
import { createGzip, createZstdCompress } from 'node:zlib';

/** What an answer can be compressed with, the preferred one first. */
const codings = { zstd: () => createZstdCompress(), gzip: () => createGzip({ level: 1 }) };
export type ContentCoding = keyof typeof codings;
export const contentCodings = Object.keys(codings) as readonly ContentCoding[];

export function compressor(coding: ContentCoding): Transform {
  return codings[coding]();
}

/**
 * The coding that a client wants most, or undefined where it has not asked for one of ours, or would rather have the
 * answer as it is (RFC 9110, 12.5.3).
 */
export function wantedCoding(acceptEncoding: string | undefined): ContentCoding | undefined {
  if (acceptEncoding === undefined) return undefined;
  if (!known.has(acceptEncoding)) {
    if (known.size === knownMax) known.clear();
    known.set(acceptEncoding, read(acceptEncoding));
  }
  return known.get(acceptEncoding);
}

/** Clients are of few kinds, and each always says the same. */
const known = new Map<string, ContentCoding | undefined>();
const knownMax = 100;

function read(acceptEncoding: string): ContentCoding | undefined {
  const wishes = wishesOf(acceptEncoding);
  let wanted: ContentCoding | undefined;
  let best = 0;
  for (const coding of contentCodings) {
    // What is not named is not asked for, and `*` asks for nothing in particular.
    const quality = wishes.get(coding) ?? 0;
    if (quality > best) [wanted, best] = [coding, quality];
  }
  return (wishes.get('identity') ?? 0) > best ? undefined : wanted;
}

function wishesOf(acceptEncoding: string): ReadonlyMap<string, number> {
  const wishes = acceptEncoding
    .toLowerCase()
    .split(',')
    .map((wish): [string, number] => {
      const [name = '', ...parameters] = wish.split(';').map((piece) => piece.trim());
      const quality = parameters.find((parameter) => parameter.startsWith('q='));
      return [name, quality === undefined ? 1 : Number(quality.slice(2)) || 0];
    });
  return new Map(wishes);
}
