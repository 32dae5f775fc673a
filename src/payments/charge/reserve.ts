import { ServiceError } from '../../errors.ts';
import type { Processor } from '../../processors/processor.ts';
import { CommitUnknown, type Write } from '../../storage/engine.ts';
import type { Trace } from '../../telemetry.ts';
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

/**
 * The entry of the request's idempotency key. The key is the caller's, or else the single-use token; undefined if the
 * request has neither.
 */
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
 * Compares a new payment with the price of its route. If they differ, an equal request of the same time may have been
 * reserved before the price changed. Then this returns the payment of that request.
 *
 * Throws as `Prices.agree` does.
 *
 * @param isChanged whether the reservation has found that the price has changed
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

/** The result of the reservation of a payment. */
export type Reservation =
  | { readonly kind: 'reserved' }
  /** Another payment has its key. */
  | { readonly kind: 'earlier'; readonly payment: Payment }
  /**
   * It is unknown whether the payment is reserved. Recovery may charge it, so the response must not say that it failed.
   */
  | { readonly kind: 'uncertain' };

/**
 * The first step: one commit stores the payment with its key, the hold of its item and its marker, unless the price has
 * changed. Throws `item_exists` and the errors of `agree`.
 *
 * @param agree compares the payment with the changed price
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
      // The amount is the same: the price has changed back, or only its text has changed.
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
    // If the earlier payment has released the key meanwhile, try again.
    if (earlier !== undefined) return earlier;
  }
}

/**
 * Checks that the previous holder has not made the item. If it has, this deletes the payment, because the processor was
 * not called yet, and throws `item_exists`.
 *
 * @returns false if deleting failed: then recovery may still charge the payment
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

/** Most open payments end within seconds. */
const heldRetryAfterSeconds = 5;

type Store = Pick<PaymentContext, 'engine' | 'processors' | 'now'>;

/**
 * @returns the error for an item that another payment holds; undefined if a leftover hold was removed: then try again
 */
async function itemIsHeld(store: Store, reservation: Write): Promise<ServiceError | undefined> {
  const holder = await store.engine.get(awaitedSpace, reservation.id);
  const payment = holder === undefined ? undefined : await findPayment(store, holder);
  // The hold is left over if a process died between the two commits of an override.
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

/** Tells the next buyer when the hold ends: a sentence, or an empty text. */
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
 * The latest time until which an open payment holds its item if its processor responds, in milliseconds since 1970. A
 * success makes the item; every other charge is canceled at the processor, which may take some time.
 */
function heldUntil(processor: Processor, payment: Payment): number {
  const { authentication, cancelRequestedAt } = payment;
  if (authentication === undefined)
    return lastRequestAt(processor, payment) + processorCallMsMax + processor.cancelMsMax + holdEndMsMax;
  const endsAt = cancelRequestedAt === undefined ? authentication.until : Date.parse(cancelRequestedAt);
  return endsAt + holdEndMsMax;
}
