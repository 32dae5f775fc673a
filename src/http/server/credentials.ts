import type { FastifyRequest } from 'fastify';
import { buyer } from '../../access/permission.ts';
import { invalidRequest, ServiceError } from '../../errors.ts';
import { invalidKeyFields, RepeatedError } from './error-response.ts';

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
    throw invalidRequest(
      'Idempotency-Key',
      'The request has more than one Idempotency-Key header; nothing was charged.',
    );
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

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * Checks the secret of the one payment that the path names. On a route with this check, the secret replaces the API
     * key, and pages of the origins of publishable keys may read the responses.
     */
    isClientSecret?: (params: PaymentParams, text: string) => Promise<boolean>;
  }
}

interface PaymentParams {
  readonly processor: string;
  readonly route_id: string;
  readonly payment_id: string;
}

/**
 * Admits a request with the header `Payment-Client-Secret` by that secret alone; a key that it also has is not looked at.
 *
 * @returns undefined if the request has no such header or its route takes none; otherwise a promise that rejects with
 *   `unauthenticated` if the secret is not valid, or `unavailable` if the payment cannot be read
 */
export function admitByClientSecret(request: FastifyRequest): Promise<void> | undefined {
  const { isClientSecret } = request.route.config;
  const text = request.headers['payment-client-secret'];
  if (isClientSecret === undefined || text === undefined) return undefined;
  return isClientSecret(request.params as PaymentParams, String(text)).then((isValid) => {
    if (!isValid) throw invalidSecret();
    request.caller = buyer;
  });
}

/** The same message for a malformed or wrong secret and for an unknown payment: the difference would help only attackers. */
function invalidSecret(): ServiceError {
  return new ServiceError('unauthenticated', {
    param: 'Payment-Client-Secret',
    message: 'The client secret is not the one of this payment.',
    headers: { 'www-authenticate': 'Bearer realm="counterfoil"' },
  });
}
