import type { Stripe } from 'stripe';
import { NotSentError } from '../sending/send-once.ts';

type StripeError = Partial<Stripe.errors.StripeError> & { readonly detail?: unknown };

/**
 * For the log: what kind of error it is, the parameter that was refused and Stripe's own request id, by which its support
 * and its dashboard find the request; nothing of its message, which may repeat what was sent.
 */
export function detailOf(error: unknown): string {
  const { type, statusCode, code, param, requestId, detail } = error as StripeError;
  const lost = detail instanceof Error ? `(${detail.message})` : undefined;
  const named = [param && `param ${param}`, requestId && `request ${requestId}`];
  return [type ?? 'not a Stripe error', statusCode, code, lost, ...named].filter(Boolean).join(' ');
}

/** No byte of the request left, or Stripe turned it away before it looked at it: the HTTP status decides. */
export function wasTurnedAway(error: unknown): boolean {
  const { statusCode, detail } = error as StripeError;
  if (detail instanceof NotSentError) return true;
  return statusCode === 401 || statusCode === 403 || statusCode === 429;
}

/**
 * What Stripe says of the request itself (https://docs.stripe.com/api/errors). 409 and a misused key speak of another
 * request under the same key, and 424 of somebody behind Stripe who failed: either may have gone through.
 */
const refusals: readonly unknown[] = [400, 402, 404];

export function isDefiniteRefusal(error: unknown): boolean {
  const { statusCode } = error as StripeError;
  return refusals.includes(statusCode) && !isOfAnotherRequest(error);
}

/** A fault of Stripe's own, which the idempotency layer keeps like any other reply. */
export function isServerError(error: unknown): boolean {
  const { statusCode } = error as StripeError;
  return statusCode !== undefined && statusCode >= 500;
}

/** The idempotency key has been used before, for another request (https://docs.stripe.com/api/idempotent_requests). */
export function isOfAnotherRequest(error: unknown): boolean {
  return (error as StripeError).type === 'StripeIdempotencyError';
}
