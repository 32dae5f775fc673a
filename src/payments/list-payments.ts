import { ServiceError } from '../errors.ts';
import type { StoredChargeState } from './charge-state.ts';
import { findProcessor, type PaymentContext } from './context.ts';
import { paymentsPageMax, paymentsScannedMax } from './limits.ts';
import type { Payment } from './payment.ts';
import { findRoute } from './payment-routes.ts';
import { paymentsAfter, paymentsSince } from './payment-store.ts';

export interface PaymentList {
  readonly processor: string;
  readonly route: string;
  readonly limit: number;
  /** The page after this id. */
  readonly after: string | undefined;
  /** Only payments made from this time on, in milliseconds since 1970. */
  readonly since: number | undefined;
  /** Only payments in this state. */
  readonly status: StoredChargeState | undefined;
}

export interface PaymentsPage {
  readonly payments: readonly Payment[];
  /** `after` of the next page; undefined on the last page. */
  readonly next: string | undefined;
}

/**
 * Payments of one route, oldest first. A page may have fewer payments than `limit` and still have a next page.
 * Throws `processor_not_found`, `route_not_found`, `invalid_request`.
 */
export async function listPayments(
  context: Pick<PaymentContext, 'engine' | 'processors' | 'routes'>,
  list: PaymentList,
): Promise<PaymentsPage> {
  const { processor, route, limit, after, since, status } = list;
  findProcessor(context, processor);
  findRoute(context, route);
  if (!Number.isInteger(limit) || limit < 1 || limit > paymentsPageMax) {
    const message = `limit must be a whole number from 1 to ${paymentsPageMax}.`;
    throw new ServiceError('invalid_request', { param: 'limit', message });
  }
  const found: Payment[] = [];
  let scanned = 0;
  let last: string | undefined;
  const payments =
    after === undefined && since !== undefined
      ? paymentsSince(context, since)
      : paymentsAfter(context, after);
  for await (const payment of payments) {
    if (found.length === limit || scanned === paymentsScannedMax) return { payments: found, next: last };
    scanned++;
    last = payment.id;
    const isOnRoute = payment.processor === processor && payment.route === route;
    if (isOnRoute && (status === undefined || payment.state === status)) found.push(payment);
  }
  return { payments: found, next: undefined };
}
