import { type Static, Type } from 'typebox';
import { ServiceError } from '../../errors.ts';
import { paymentsPageMax } from '../../payments/limits.ts';
import type { StoredChargeState } from '../../payments/types.ts';
import { timestampOf } from '../../timestamps.ts';
import { documentedAs } from '../response/described.ts';
import { closed, numberInQuery } from '../response/schemas.ts';
import { paymentStatus } from './payment-schemas.ts';

/** Payments of a page without `limit`. */
const pageItemsDefault = 20;

export const listQuery = Type.Object(
  {
    idempotency_key: Type.Optional(
      Type.String({
        description:
          'Finds the payment of a request after its response was lost; no other parameter is allowed',
      }),
    ),
    limit: numberInQuery('The maximum number of payments', {
      minimum: 1,
      maximum: paymentsPageMax,
      default: pageItemsDefault,
    }),
    after: Type.Optional(Type.String({ description: 'Start after this id: `next` of the previous page' })),
    since: Type.Optional(
      Type.String({ description: 'Only payments created at or after this date or time (RFC 3339)' }),
    ),
    status: documentedAs(
      Type.Optional(
        Type.Unsafe<StoredChargeState>({ ...paymentStatus, description: 'Only payments in this state' }),
      ),
      paymentStatus,
    ),
  },
  closed,
);

/** Throws `invalid_request`. */
export function pageOf({ limit, after, since, status }: Omit<Static<typeof listQuery>, 'idempotency_key'>) {
  return {
    // The payments domain checks the limits.
    limit: limit === undefined ? pageItemsDefault : /^\d{1,9}$/.test(limit) ? Number(limit) : Number.NaN,
    after,
    since: since === undefined ? undefined : sinceOf(since),
    status,
  };
}

function sinceOf(text: string): number {
  const time = timestampOf(text);
  if (time !== undefined) return time;
  const message = 'since must be a date (2026-11-21) or a timestamp (2026-11-21T10:00:00Z).';
  throw new ServiceError('invalid_request', { param: 'since', message });
}
