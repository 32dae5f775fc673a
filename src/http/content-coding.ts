import type { Transform } from 'node:stream';
import { createGzip, createZstdCompress } from 'node:zlib';

/** What an answer can be compressed with, the preferred one first. */
const codings = { zstd: () => createZstdCompress(), gzip: () => createGzip({ level: 1 }) };
export type ContentCoding = keyof typeof codings;
export const contentCodings = Object.keys(codings) as readonly ContentCoding[];

export function compressor(coding: ContentCoding): Transform {
  return codings[coding]();
}

/** The coding that a client wants most, or undefined where it has not asked for one of ours (RFC 9110, 12.5.3). */
export function wantedCoding(acceptEncoding: string | undefined): ContentCoding | undefined {
  if (acceptEncoding === undefined) return undefined;
  let wanted: ContentCoding | undefined;
  let best = 0;
  for (const coding of contentCodings) {
    const quality = qualityOf(acceptEncoding, coding);
    if (quality > best) [wanted, best] = [coding, quality];
  }
  return wanted;
}

/** 0 for what is not named: `*` and silence ask for nothing in particular. */
function qualityOf(acceptEncoding: string, coding: string): number {
  for (const part of acceptEncoding.toLowerCase().split(',')) {
    const [name, ...parameters] = part.split(';').map((piece) => piece.trim());
    if (name !== coding) continue;
    const quality = parameters.find((parameter) => parameter.startsWith('q='));
    return quality === undefined ? 1 : Number(quality.slice(2)) || 0;
  }
  return 0;
}
