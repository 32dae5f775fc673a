import type { Stripe } from 'stripe';
import { inTime } from '../in-time.ts';
import type { Account, Mode } from '../processor.ts';
import { detailOf } from './errors.ts';

/** https://docs.stripe.com/api/accounts/retrieve; a restricted key needs the permission to read the account. */
export async function account(client: Stripe, key: string, timeoutMs: number): Promise<Account> {
  const mode = modeOf(key);
  const read = client.accounts.retrieveCurrent({}, { timeout: timeoutMs }).then(
    ({ id }): Account => ({ kind: 'account', id, ...mode }),
    (error: Partial<Stripe.errors.StripeError>): Account =>
      error.statusCode === 403 ? { kind: 'withheld', ...mode } : { kind: 'unknown', detail: detailOf(error) },
  );
  return inTime<Account>(read, timeoutMs, { kind: 'unknown', detail: 'no reply in time' });
}

/** https://docs.stripe.com/keys: `sk_live_…`, `rk_test_…`. Test and live mode have the same account id and separate records. */
function modeOf(key: string): { readonly mode?: Mode } {
  const mode = /^[a-z]+_(live|test)_/.exec(key)?.[1];
  return mode === undefined ? {} : { mode: mode as Mode };
}
