import type { Stripe } from 'stripe';
import { inTime } from '../in-time.ts';
import type { Check } from '../processor.ts';
import { detailOf } from './errors.ts';

/**
 * Lists one PaymentIntent (https://docs.stripe.com/api/payment_intents/list). Looking up a charge needs the same
 * permission, so that a restricted key without it is found before a charge is in doubt.
 */
export async function check(client: Stripe, timeoutMs: number): Promise<Check> {
  const listed = client.paymentIntents.list({ limit: 1 }, { timeout: timeoutMs }).then(
    (): Check => ({ kind: 'well' }),
    (error: Partial<Stripe.errors.StripeError>): Check => {
      const { statusCode } = error;
      const isRejected = statusCode === 401 || statusCode === 403;
      return { kind: isRejected ? 'rejected' : 'unknown', detail: detailOf(error) };
    },
  );
  return inTime<Check>(listed, timeoutMs, { kind: 'unknown', detail: 'no reply in time' });
}
