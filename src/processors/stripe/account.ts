import type { Stripe } from 'stripe';
import type { Account, Check, Mode } from '../processor.ts';
import { outcomeInTime } from '../sending/in-time.ts';
import { detailOf } from './errors.ts';

/** https://docs.stripe.com/api/accounts/retrieve; a restricted key needs the permission to read the account. */
export async function account(client: Stripe, key: string, timeoutMs: number): Promise<Account> {
  const mode = modeOf(key);
  const read = client.accounts.retrieveCurrent({}, { timeout: timeoutMs }).then(
    ({ id }): Account => ({ kind: 'account', id, ...mode }),
    (error: Partial<Stripe.errors.StripeError>): Account =>
      error.statusCode === 403 ? { kind: 'withheld', ...mode } : { kind: 'unknown', detail: detailOf(error) },
  );
  return outcomeInTime(read, timeoutMs);
}

/** https://docs.stripe.com/keys: `sk_live_…`, `rk_test_…`. Test and live mode have the same account id and separate records. */
function modeOf(key: string): { readonly mode?: Mode } {
  const mode = /^[a-z]+_(live|test)_/.exec(key)?.[1];
  return mode === undefined ? {} : { mode: mode as Mode };
}

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
  return outcomeInTime(listed, timeoutMs);
}
