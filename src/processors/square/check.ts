import { inTime } from '../in-time.ts';
import type { Check } from '../processor.ts';
import { type Account, within } from './account.ts';
import { faultOf } from './errors.ts';

/**
 * Asks for one payment of our location: what finding out about a charge needs too
 * (https://developer.squareup.com/reference/square/payments-api/list-payments).
 */
export async function check({ client, locationId }: Account, timeoutMs: number): Promise<Check> {
  const listing = { limit: 1, ...(locationId === undefined ? {} : { locationId }) };
  const asked = client.payments.list(listing, within(timeoutMs)).then(
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
