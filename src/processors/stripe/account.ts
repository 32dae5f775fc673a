import type { Stripe } from 'stripe';
import { inTime } from '../in-time.ts';
import type { Account } from '../processor.ts';
import { detailOf } from './errors.ts';

/** https://docs.stripe.com/api/accounts/retrieve; a restricted key needs the permission to read the account. */
export async function account(client: Stripe, timeoutMs: number): Promise<Account> {
  const read = client.accounts.retrieveCurrent({}, { timeout: timeoutMs }).then(
    ({ id }): Account => ({ kind: 'account', id }),
    (error: Partial<Stripe.errors.StripeError>): Account =>
      error.statusCode === 403 ? { kind: 'withheld' } : { kind: 'unknown', detail: detailOf(error) },
  );
  return inTime<Account>(read, timeoutMs, { kind: 'unknown', detail: 'no reply in time' });
}
