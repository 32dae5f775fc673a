import { ServiceError } from '../../errors.ts';
import type { Processor } from '../../processors/processor.ts';
import type { Write } from '../../storage/engine.ts';
import type { PaymentContext } from '../context.ts';
import { awaitedSpace } from '../fulfilment.ts';
import { holdEndMsMax, processorCallMsMax } from '../limits.ts';
import type { Payment } from '../payment.ts';
import { findPayment } from '../payment-store.ts';
import { lastRequestAt } from './sought.ts';

/** Most payments under way end within seconds. */
const heldRetryAfterSeconds = 5;

type Store = Pick<PaymentContext, 'engine' | 'processors' | 'now'>;

/** @returns the error for an item that another payment holds; undefined if a leftover hold was removed: try again */
export async function itemIsHeld(store: Store, reservation: Write): Promise<ServiceError | undefined> {
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
