import type { Account, Check, Mode } from '../processor.ts';
import { outcomeInTime } from '../sending/in-time.ts';
import type { Sends } from '../sending/send-once.ts';
import type { SharedListing } from '../sending/shared-listing.ts';
import { type Json, objectOf, type SquareApi, SquareError, textOf } from './api.ts';
import { faultOf } from './errors.ts';

/** The client, settings and counters that every call to Square needs. */
export interface SquareAccount {
  readonly api: SquareApi;
  readonly sends: Sends;
  /** Undefined for the main location, Square's default. */
  readonly locationId: string | undefined;
  /** How long a new payment may be missing from Square's lists. */
  readonly listLagMs: number;
  /** Undefined if the address of the API does not show it. */
  readonly mode: Mode | undefined;
}

export type Payments = SharedListing<Json>;

/** The location parameter of a list query. */
export function locationQuery({ locationId }: SquareAccount): { readonly location_id?: string } {
  return locationId === undefined ? {} : { location_id: locationId };
}

/**
 * Square uses the smallest unit of ISO 4217 for every currency that it accepts: AUD, CAD, EUR, GBP and USD in
 * hundredths, JPY in whole yen
 * (https://developer.squareup.com/docs/build-basics/working-with-monetary-amounts).
 */
export function moneyOf(amount: number, currency: string): Json {
  return { amount, currency };
}

/**
 * The merchant and the location, because payments are looked up in the list of one location
 * (https://developer.squareup.com/reference/square/locations-api/retrieve-location).
 */
export async function account({ api, locationId, mode }: SquareAccount, timeoutMs: number): Promise<Account> {
  const inMode = mode === undefined ? {} : { mode };
  const read = api.get(`/v2/locations/${locationId ?? 'main'}`, {}, { timeoutMs }).then(
    (reply): Account => {
      const location = objectOf(reply.location);
      const [merchant, id] = [textOf(location.merchant_id), textOf(location.id)];
      if (merchant === undefined || id === undefined)
        return { kind: 'unknown', detail: 'no location in the reply' };
      return { kind: 'account', id: `${merchant}/${id}`, ...inMode };
    },
    (error: unknown): Account =>
      error instanceof SquareError && error.status === 403
        ? { kind: 'withheld', ...inMode }
        : { kind: 'unknown', detail: faultOf(error).detail },
  );
  return outcomeInTime(read, timeoutMs);
}

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
  return outcomeInTime(listed, timeoutMs);
}
