import { inTime } from '../in-time.ts';
import type { Check } from '../processor.ts';
import { locationQuery, type SquareAccount } from './account.ts';
import { faultOf } from './errors.ts';

/**
 * Lists one payment of our location, because looking up a charge needs the same permission
 * (https://developer.squareup.com/reference/square/payments-api/list-payments).
 */
export async function check(account: SquareAccount, timeoutMs: number): Promise<Check> {
  const query = { limit: '1', ...locationQuery(account) };
  const listed = account.api.get('/v2/payments', query, { timeoutMs }).then(
    (): Check => ({ kind: 'well' }),
    (error: unknown): Check => {
      const { status, detail } = faultOf(error);
      // 404 and 400 mean a wrong location.
      const isRejected = status !== undefined && status >= 400 && status < 408;
      return { kind: isRejected ? 'rejected' : 'unknown', detail };
    },
  );
  return inTime<Check>(listed, timeoutMs, { kind: 'unknown', detail: 'no reply in time' });
}
