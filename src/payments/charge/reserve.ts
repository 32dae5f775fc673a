import { ServiceError } from '../../errors.ts';
import type { Processor } from '../../processors/processor.ts';
import { CommitUnknown, type Write } from '../../storage/engine.ts';
import type { Trace } from '../../tracing.ts';
import { pickAccount } from '../accounts.ts';
import type { PaymentContext } from '../context.ts';
import { awaitedSpace, checkItemIsFree, isItemReservation, releaseItem, reserveItem } from '../fulfilment.ts';
import { holdEndMsMax, processorCallMsMax } from '../limits.ts';
import { createMarker, openId, removeMarker } from '../ownership/marker.ts';
import {
  callerKeyEntry,
  type PaidItem,
  type Payment,
  paymentKeysSpace,
  paymentsSpace,
  tokenKeyEntry,
} from '../payment.ts';
import type { RoutePolicy } from '../payment-routes.ts';
import { created, findPayment, findPaymentByKey, paymentCreation } from '../payment-store.ts';
import type { AgreedPrice } from '../prices.ts';
import { lastRequestAt } from './look-up.ts';
import type { CheckedChargeRequest } from './request.ts';

/** The payment that already has the key of a request, if there is one. */
export async function findEarlier(
  context: Pick<PaymentContext, 'engine' | 'replayCache'>,
  keyEntry: string | undefined,
): Promise<Payment | undefined> {
  if (keyEntry === undefined) return undefined;
  const final = context.replayCache.get(keyEntry);
  if (final !== undefined) return final;
  const earlier = await findPaymentByKey(context, keyEntry);
  if (earlier !== undefined) context.replayCache.note(keyEntry, earlier);
  return earlier;
}

/** The entry of the request's idempotency key: the caller's, or its single-use token; undefined if it has none. */
export function keyEntryFor(
  { caller, processor: name, route, idempotencyKey, token }: CheckedChargeRequest,
  processor: Processor,
): string | undefined {
  if (idempotencyKey !== undefined) return callerKeyEntry(caller, name, route, idempotencyKey);
  return processor.isSingleUse(token) ? tokenKeyEntry(name, token) : undefined;
}

/** The price of a new payment, or the payment that already has its key. */
export interface Agreement {
  readonly price?: AgreedPrice | undefined;
  readonly earlier?: Payment;
}

/**
 * Compares a new payment with the price of its route. If it differs, an equal request that was sent at the same time may
 * have been reserved before the price changed: then that payment is returned.
 *
 * Throws as `Prices.agree` does.
 *
 * @param isChanged whether the reservation has found another price
 */
export async function agreePrice(
  context: Pick<PaymentContext, 'engine' | 'prices'>,
  policy: RoutePolicy,
  request: CheckedChargeRequest,
  keyEntry: string | undefined,
  isChanged: boolean,
): Promise<Agreement> {
  try {
    return { price: await context.prices.agree(policy, request, isChanged) };
  } catch (error) {
    const earlier = keyEntry === undefined ? undefined : await findPaymentByKey(context, keyEntry);
    if (earlier === undefined) throw error;
    return { earlier };
  }
}

/** What the reservation of a payment has found out. */
export type Reservation =
  | { readonly kind: 'reserved' }
  /** Another payment has its key. */
  | { readonly kind: 'earlier'; readonly payment: Payment }
  /** Whether it is reserved is unknown: recovery may charge it, so the response must not say that it failed. */
  | { readonly kind: 'uncertain' };

/**
 * The first step: one commit stores the payment with its key, the hold of its item and its marker, unless the price has changed.
 * Throws `item_exists`, and the errors of `agree`.
 *
 * @param agree compares a price that has changed
 */
export async function reserve(
  context: PaymentContext,
  payment: Payment,
  price: AgreedPrice | undefined,
  agree: () => Promise<Agreement>,
  trace: Trace,
): Promise<Reservation> {
  const committing = trace.step('reserve', () =>
    commitReservation(context, payment, price?.checks ?? [], agree),
  );
  const earlier = await committing.catch((error) => {
    if (error instanceof CommitUnknown) return 'uncertain' as const;
    throw error;
  });
  if (earlier === 'uncertain') return { kind: 'uncertain' };
  if (earlier !== undefined) return { kind: 'earlier', payment: earlier };
  context.metrics.charge(payment.processor, payment.route, 'received');
  const { item } = payment;
  const isFree = item === undefined || (await isStillFree(context, payment, item));
  return { kind: isFree ? 'reserved' : 'uncertain' };
}

/** @returns the payment that already has the key, or undefined if this one is reserved */
async function commitReservation(
  context: PaymentContext,
  payment: Payment,
  priceChecks: readonly Write[],
  agree: () => Promise<Agreement>,
): Promise<Payment | undefined> {
  const { id, keyEntry, item } = payment;
  const reservation: Write[] = [
    ...(keyEntry === undefined ? [] : [created(paymentKeysSpace, keyEntry, id)]),
    ...(item === undefined ? [] : reserveItem(item, id)),
    paymentCreation(payment),
    createMarker(context, openId(id), payment.processor),
    ...(await context.accounts.noting(pickAccount(payment))),
  ];
  for (let checks = priceChecks; ; ) {
    const writes = [...reservation, ...checks];
    const failure = await context.engine.commit(writes);
    if (failure === undefined) return undefined;
    const failed = writes[failure.write] as Write;
    if (failed.kind === 'check') {
      const { earlier, price } = await agree();
      if (earlier !== undefined) return earlier;
      // It has changed back, or its text has: the amount is the same.
      checks = price?.checks ?? [];
      continue;
    }
    if (isItemReservation(failed)) {
      const held = await itemIsHeld(context, failed);
      if (held !== undefined) throw held;
      continue;
    }
    if (failed.space !== paymentKeysSpace) throw new Error(`payment id ${id} was given out twice`);
    const earlier = await findPaymentByKey(context, failed.id);
    // The earlier payment may have released the key meanwhile: then try again.
    if (earlier !== undefined) return earlier;
  }
}

/**
 * The previous holder may have created the item. Then this deletes the payment, because the processor was not called, and
 * throws `item_exists`. @returns false if deleting failed: then recovery may still charge it
 */
async function isStillFree(
  context: Pick<PaymentContext, 'engine' | 'itemWrite'>,
  payment: Payment,
  item: PaidItem,
): Promise<boolean> {
  try {
    await checkItemIsFree(context, item);
    return true;
  } catch (error) {
    const { id, keyEntry } = payment;
    const key = { kind: 'delete', space: paymentKeysSpace, id: keyEntry ?? '' } as const;
    const deleting = context.engine.commit([
      { kind: 'delete', space: paymentsSpace, id },
      removeMarker(openId(id)),
      ...releaseItem(item, id),
      ...(keyEntry === undefined ? [] : [key]),
    ]);
    const isDeleted = await deleting.then(
      (failure) => failure === undefined,
      () => false,
    );
    if (!isDeleted) return false;
    throw error;
  }
}

/** Most payments under way end within seconds. */
const heldRetryAfterSeconds = 5;

type Store = Pick<PaymentContext, 'engine' | 'processors' | 'now'>;

/** @returns the error for an item that another payment holds; undefined if a leftover hold was removed: try again */
async function itemIsHeld(store: Store, reservation: Write): Promise<ServiceError | undefined> {
  const holder = await store.engine.get(awaitedSpace, reservation.id);
  const payment = holder === undefined ? undefined : await findPayment(store, holder);
  // A process may have died between the two commits of an override.
  if (payment?.item !== undefined && payment.item.state !== 'awaited') {
    const { id } = reservation;
    await store.engine.commit([{ kind: 'delete', space: awaitedSpace, id, ifValue: payment.id }]);
    return undefined;
  }
  const message =
    payment?.state === 'needs_review'
      ? 'Another payment, which the shop must review, holds the item that this payment would make; nothing was charged.'
      : `Another payment under way holds the item that this payment would make; nothing was charged.${whenFree(store, payment)}`;
  const retryAfterSeconds = heldRetryAfterSeconds;
  return new ServiceError('item_exists', { param: 'metadata', message, retryable: true, retryAfterSeconds });
}

/** A sentence for the next buyer. */
function whenFree({ processors, now }: Store, payment: Payment | undefined): string {
  const processor = processors.get(payment?.processor ?? '');
  if (payment === undefined || processor === undefined) return '';
  const until = heldUntil(processor, payment);
  if (until <= now()) return ' It ends when its payment processor responds.';
  const isRetried = payment.authentication === undefined && payment.cancelRequestedAt === undefined;
  const unless = isRetried ? ', and later only if its buyer retries it' : '';
  return ` It ends by ${new Date(until).toISOString()} if its payment processor responds${unless}.`;
}

/**
 * Until when an open payment holds its item at the latest, if its processor responds: a success makes the item, and everything
 * else is canceled at the processor, which may take some time. In milliseconds since 1970.
 */
function heldUntil(processor: Processor, payment: Payment): number {
  const { authentication, cancelRequestedAt } = payment;
  if (authentication === undefined)
    return lastRequestAt(processor, payment) + processorCallMsMax + processor.cancelMsMax + holdEndMsMax;
  const endsAt = cancelRequestedAt === undefined ? authentication.until : Date.parse(cancelRequestedAt);
  return endsAt + holdEndMsMax;
}
