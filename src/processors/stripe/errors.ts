import type { Stripe } from 'stripe';
import { isRejectedUnread } from '../sending/outcomes.ts';
import { NotSentError } from '../sending/send-once.ts';

type StripeError = Partial<Stripe.errors.StripeError> & { readonly detail?: unknown };

/**
 * For the log: the type of the error, the rejected parameter and Stripe's request id, by which its support and its
 * dashboard find the request. The message is left out, because it may repeat what was sent.
 */
export function errorDetail(error: unknown): string {
  const { type, statusCode, code, param, requestId, detail } = error as StripeError;
  const lost = detail instanceof Error ? `(${detail.message})` : undefined;
  const named = [param && `param ${param}`, requestId && `request ${requestId}`];
  return [type ?? 'not a Stripe error', statusCode, code, lost, ...named].filter(Boolean).join(' ');
}

/** No byte of the request was sent, or Stripe rejected it unread, as the HTTP status shows. */
export function wasTurnedAway(error: unknown): boolean {
  const { statusCode, detail } = error as StripeError;
  return detail instanceof NotSentError || isRejectedUnread(statusCode);
}

/**
 * The statuses that reject this very request (https://docs.stripe.com/api/errors). 409 and a reused key concern another
 * request with the same key, and 424 a failed service behind Stripe: either may have succeeded.
 */
const definiteStatuses: readonly unknown[] = [400, 402, 404];

export function isDefiniteRejection(error: unknown): boolean {
  const { statusCode } = error as StripeError;
  return definiteStatuses.includes(statusCode) && !isOfAnotherRequest(error);
}

/** A server error at Stripe, which the idempotency layer stores like any other reply. */
export function isServerError(error: unknown): boolean {
  const { statusCode } = error as StripeError;
  return statusCode !== undefined && statusCode >= 500;
}

/** The idempotency key was used for another request (https://docs.stripe.com/api/idempotent_requests). */
export function isOfAnotherRequest(error: unknown): boolean {
  return (error as StripeError).type === 'StripeIdempotencyError';
}

/**
 * Stripe stored this error under the idempotency key when it executed the same request before, and has not executed it again
 * (https://docs.stripe.com/api/idempotent_requests: server errors are stored too).
 */
export function isReplayed(error: unknown): boolean {
  const { headers } = error as StripeError;
  return headers?.['idempotent-replayed'] === 'true';
}
