import type { IncomingHttpHeaders } from 'node:http';
import type { Metadata } from './objects.ts';

export interface StripeRequest {
  readonly method: string;
  /** The path without the query, whose parameters are in `fields`. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Nested fields by their form name: `card[token]`. */
  readonly fields: Fields;
}

export type Fields = Readonly<Record<string, string>>;

export function metadataOf(fields: Fields): Metadata {
  const entries = Object.entries(fields).flatMap(([name, value]) => {
    const key = /^metadata\[([^\]]{1,40})\]$/.exec(name)?.[1];
    return key === undefined ? [] : [[key, value] as const];
  });
  return Object.fromEntries(entries);
}
