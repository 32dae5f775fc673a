import type { Stripe } from 'stripe';
import { inTime } from '../in-time.ts';
import type { Check } from '../processor.ts';
import { detailOf } from './errors.ts';

/**
 * Asks for one PaymentIntent: what finding out about a charge needs too, so that a restricted key which may not is found
 * out before there is a charge in doubt (https://docs.stripe.com/api/payment_intents/list).
 */
export async function check(client: Stripe, timeoutMs: number): Promise<Check> {
  const asked = client.paymentIntents.list({ limit: 1 }, { timeout: timeoutMs }).then(
    (): Check => ({ kind: 'well' }),
    (error: Partial<Stripe.errors.StripeError>): Check => {
      const { statusCode } = error;
      const isRefusal = statusCode === 401 || statusCode === 403;
      return { kind: isRefusal ? 'refused' : 'unknown', detail: detailOf(error) };
    },
  );
  return inTime<Check>(asked, timeoutMs, { kind: 'unknown', detail: 'no answer in time' });
}
