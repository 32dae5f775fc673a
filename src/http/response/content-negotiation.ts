import type { Transform } from 'node:stream';
import { createGzip, createZstdCompress } from 'node:zlib';
import { LRUCache } from 'lru-cache';

/** The supported content codings, the preferred one first. */
const codings = { zstd: () => createZstdCompress(), gzip: () => createGzip({ level: 1 }) };
export type ContentCoding = keyof typeof codings;
export const contentCodings = Object.keys(codings) as readonly ContentCoding[];

export function compressor(coding: ContentCoding): Transform {
  return codings[coding]();
}

/**
 * The supported coding that a client prefers. Undefined if it names none, or if it prefers the uncompressed response
 * (RFC 9110, 12.5.3).
 */
export function wantedCoding(acceptEncoding: string | undefined): ContentCoding | undefined {
  if (acceptEncoding === undefined) return undefined;
  return cached.memo(acceptEncoding).coding;
}

/** By header: there are few kinds of clients, and each kind always sends the same header. */
const cached = new LRUCache<string, { readonly coding: ContentCoding | undefined }>({
  max: 100,
  memoMethod: (acceptEncoding) => ({ coding: read(acceptEncoding) }),
});

function read(acceptEncoding: string): ContentCoding | undefined {
  const qualities = parseQualities(acceptEncoding);
  let wanted: ContentCoding | undefined;
  let best = 0;
  for (const coding of contentCodings) {
    // A coding that is not named is not used, and `*` selects none.
    const quality = qualities.get(coding) ?? 0;
    if (quality > best) [wanted, best] = [coding, quality];
  }
  return (qualities.get('identity') ?? 0) > best ? undefined : wanted;
}

/** The quality of each entry of a header such as `Accept` or `Accept-Encoding`, by its name in lower case (RFC 9110, 12.4.2). */
export function parseQualities(header: string): ReadonlyMap<string, number> {
  const qualities = header
    .toLowerCase()
    .split(',')
    .map((entry): [string, number] => {
      const [name = '', ...parameters] = entry.split(';').map((piece) => piece.trim());
      const quality = parameters.find((parameter) => parameter.startsWith('q='));
      return [name, quality === undefined ? 1 : Number(quality.slice(2)) || 0];
    });
  return new Map(qualities);
}
