import type { FastifyRequest } from 'fastify';
import { ServiceError } from '../../errors.ts';
import { invalidKeyFields } from './error-headers.ts';
import { RepeatedError } from './repeated-error.ts';

/**
 * Rejects duplicate headers: Node.js uses the first one or joins them, but a proxy may use the other. @returns the number of
 * `Authorization` headers
 */
export function checkHeaderCounts({ raw }: FastifyRequest): number {
  const { rawHeaders } = raw;
  let hosts = 0;
  let authorizations = 0;
  let idempotencyKeys = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++;
    else if (name.length === 13 && name.toLowerCase() === 'authorization') authorizations++;
    else if (name.length === 15 && name.toLowerCase() === 'idempotency-key') idempotencyKeys++;
  }
  if (hosts > 1) throw invalidHost('The request has more than one Host header.');
  if (hosts === 0 && raw.httpVersion !== '1.0') throw invalidHost('The request has no Host header.');
  if (idempotencyKeys > 1) {
    throw new ServiceError('invalid_request', {
      param: 'Idempotency-Key',
      message: 'The request has more than one Idempotency-Key header; nothing was charged.',
    });
  }
  return authorizations;
}

/** The sender may also disagree about the end of the request: nothing more is read from it (RFC 9112, 11.2). */
function invalidHost(message: string): ServiceError {
  return new ServiceError('invalid_request', { param: 'Host', message, headers: { connection: 'close' } });
}

/** The bearer token of the request (RFC 6750, 2.1), or the error of a request without one. */
export function sentKey({ headers }: FastifyRequest, authorizations: number): string | ServiceError {
  if (authorizations === 0) return missingKey;
  const text = /^Bearer +([\x21-\x7e]+)$/i.exec(headers.authorization ?? '')?.[1];
  return authorizations > 1 || text === undefined ? invalidKey : text;
}

// Created once: callers without a key may send many requests.
const missingKey = new RepeatedError('unauthenticated', {
  message: 'This request needs an API key, sent as "Authorization: Bearer cfk_…".',
  headers: { 'www-authenticate': 'Bearer realm="counterfoil"' },
});

/** The same message for a malformed, unknown, wrong, revoked or expired key: the difference would help only attackers. */
export const invalidKey = new RepeatedError('unauthenticated', {
  ...invalidKeyFields,
  message: 'The API key is not valid. Send a valid one as "Authorization: Bearer cfk_…".',
});
