import type { Stripe } from 'stripe';

type StripeError = Partial<Stripe.errors.StripeError>;

/** For the log: what kind of error it is, and nothing of its message. */
export function detailOf(error: unknown): string {
  const { type, statusCode, code } = error as StripeError;
  return [type ?? 'not a Stripe error', statusCode, code].filter((part) => part !== undefined).join(' ');
}

/** Before it looked at the request (https://docs.stripe.com/api/errors): the HTTP status decides. */
export function wasTurnedAway(error: unknown): boolean {
  const { statusCode } = error as StripeError;
  return statusCode === 401 || statusCode === 403 || statusCode === 429;
}

/**
 * What Stripe says of the request itself (https://docs.stripe.com/api/errors). 409 and a misused key speak of another
 * request under the same key, and 424 of somebody behind Stripe who failed: either may have gone through.
 */
const refusals: readonly unknown[] = [400, 402, 404];

export function isDefiniteRefusal(error: unknown): boolean {
  const { statusCode, type } = error as StripeError;
  return refusals.includes(statusCode) && type !== 'StripeIdempotencyError';
}
