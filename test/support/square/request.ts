import type { IncomingMessage } from 'node:http';
import type { SquareFault } from './scripts.ts';

// biome-ignore lint/suspicious/noExplicitAny: a double reads requests of every shape
export type Json = any;

export interface SquareRequest {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: IncomingMessage['headers'];
  readonly body: Json;
}

export interface Reply {
  readonly status: number;
  readonly body: unknown;
}

export function rejection(faults: readonly [SquareFault, ...SquareFault[]]): Reply {
  return { status: faults[0].status, body: { errors: faults.map(errorOf) } };
}

export function errorOf({ category, code, field }: SquareFault): unknown {
  // Square's sentences quote the request.
  return { category, code, detail: `Sent: ${field ?? 'a request'} of cnon: (${code})`, field };
}
