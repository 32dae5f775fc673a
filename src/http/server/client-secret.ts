import type { FastifyRequest } from 'fastify';
import { buyer } from '../../access/permission.ts';
import { ServiceError } from '../../errors.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * Checks the secret of the one payment that the path names. On a route with this check, the secret replaces the API
     * key, and pages of the origins of publishable keys may read the responses.
     */
    isClientSecret?: (params: PaymentParams, text: string) => Promise<boolean>;
  }
}

export interface PaymentParams {
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
