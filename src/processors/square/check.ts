import { inTime } from '../in-time.ts';
import type { Check } from '../processor.ts';
import { locationQuery, type SquareAccount } from './account.ts';
import { faultOf } from './errors.ts';

/**
 * Asks for one payment of our location: what finding out about a charge needs too
 * (https://developer.squareup.com/reference/square/payments-api/list-payments).
 */
export async function check(account: SquareAccount, timeoutMs: number): Promise<Check> {
  const listing = { limit: '1', ...locationQuery(account) };
  const asked = account.api.get('/v2/payments', listing, { timeoutMs }).then(
    (): Check => ({ kind: 'well' }),
    (error: unknown): Check => {
      const { status, detail } = faultOf(error);
      // 404 and 400 speak of the location.
      const isRefusal = status !== undefined && status >= 400 && status < 408;
      return { kind: isRefusal ? 'refused' : 'unknown', detail };
    },
  );
  return inTime<Check>(asked, timeoutMs, { kind: 'unknown', detail: 'no answer in time' });
}
