import { invalidRequest, ServiceError } from '../errors.ts';
import { refreshAuthentication } from './charge/authenticate.ts';
import { checkIdempotencyKey, checkMetadata } from './charge/request.ts';
import type { StoredChargeState } from './charge-state.ts';
import { findProcessor, type PaymentContext } from './context.ts';
import { paymentsPageMax, paymentsScannedMax } from './limits.ts';
import { callerKeyEntry, type Metadata, type Payment, type PaymentPlace } from './payment.ts';
import { findRoute } from './payment-routes.ts';
import { findPayment, findPaymentByKey, paymentsAfter, paymentsSince } from './payment-store.ts';
import { metadataKey, type Price } from './prices.ts';

/** The payment with this id on this route. Throws `processor_not_found`, `route_not_found`, `payment_not_found`. */
export async function findPaymentOn(
  context: Pick<PaymentContext, 'processors' | 'routes' | 'engine'>,
  { processor, route, paymentId }: PaymentPlace,
): Promise<Payment> {
  findProcessor(context, processor);
  findRoute(context, route);
  const payment = await findPayment(context, paymentId);
  if (payment?.processor !== processor || payment.route !== route)
    throw new ServiceError('payment_not_found');
  return payment;
}

/**
 * The payment with this id as it is now. A payment that waits for its cardholder is looked up first. Throws as
 * `findPaymentOn` does.
 */
export async function retrievePayment(context: PaymentContext, place: PaymentPlace): Promise<Payment> {
  return refreshAuthentication(context, await findPaymentOn(context, place));
}

/**
 * Finds the payment of a request whose response was lost, as it is now. A payment that waits for its cardholder is
 * looked up first. Throws `processor_not_found`, `route_not_found`, `invalid_request`, `payment_not_found`.
 */
export async function retrieveByIdempotencyKey(
  context: PaymentContext,
  { processor, route, caller, key }: { processor: string; route: string; caller: string; key: string },
): Promise<Payment> {
  findProcessor(context, processor);
  findRoute(context, route);
  const checked = checkIdempotencyKey(key, 'idempotency_key') as string;
  const payment = await findPaymentByKey(context, callerKeyEntry(caller, processor, route, checked));
  if (payment === undefined) {
    // The request may still be on its way, so the message must not say that nothing was charged.
    throw new ServiceError('payment_not_found', {
      message: 'There is no payment with this idempotency key.',
    });
  }
  return refreshAuthentication(context, payment);
}

export interface PaymentList {
  readonly processor: string;
  readonly route: string;
  readonly limit: number;
  /** The page begins after this id. */
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
    throw invalidRequest('limit', message);
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

export interface SoughtPrice {
  readonly processor: string;
  readonly route: string;
  /** The metadata fields that the price depends on. */
  readonly metadata: Metadata;
}

/**
 * The price that a payment on this route has now. Throws `processor_not_found`, `processor_not_configured`,
 * `route_not_found` (also for a route that sets no price), and the errors of `Prices.read`.
 */
export async function findPrice(
  context: Pick<PaymentContext, 'processors' | 'routes' | 'prices'>,
  { processor, route, metadata }: SoughtPrice,
): Promise<Price> {
  findProcessor(context, processor);
  const { price } = findRoute(context, route);
  if (price === undefined || price === 'payer') {
    const message = 'This payment route sets no price: the caller chooses the amount.';
    throw new ServiceError('route_not_found', { message });
  }
  const needed = 'table' in price ? [price.id, price.quantity ?? price.id].map(metadataKey) : [];
  const other = Object.keys(checkMetadata(metadata)).find((key) => !needed.includes(key));
  if (other !== undefined) {
    const message = 'The price of this payment route does not depend on this query parameter.';
    throw invalidRequest(other, message);
  }
  return context.prices.read(price, metadata);
}
