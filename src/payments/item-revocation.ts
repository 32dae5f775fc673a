import { ServiceError } from '../errors.ts';
import type { Write } from '../storage/engine.ts';
import type { WriteRejected } from '../storage/records.ts';
import type { PaymentContext } from './context.ts';
import { paidContent } from './fulfilment.ts';
import type { PaidItem, Payment, Revocation } from './payment.ts';
import { type Change, type changePayment, commitChange, requiredPayment } from './payment-store.ts';
import { isFullyRefunded } from './refund/amounts.ts';

/**
 * Whether the money for the item was returned in a way after which the route deletes the item: a full refund, or a
 * dispute. The amount of a dispute does not matter, because it may differ from that of the charge
 * (https://docs.stripe.com/api/disputes/object#dispute_object-amount).
 */
export function isItemRevoked(payment: Payment): boolean {
  const { item, disputes = [] } = payment;
  const isReturned = (cause: Revocation) =>
    cause === 'refund' ? isFullyRefunded(payment) : disputes.some(({ isWithdrawn }) => isWithdrawn === true);
  return item?.revokedBy?.some(isReturned) ?? false;
}

/**
 * Changes a payment as `changePayment` does, for a change that may return its money. The same commit deletes a revoked
 * item if it is still as the payment made it. If somebody has changed the item, it stays, and the change is committed
 * without its deletion.
 */
export async function changeRevokingItem(
  context: Pick<PaymentContext, 'engine' | 'log' | 'itemDeletion'>,
  id: string,
  change: (payment: Payment) => Change | undefined,
): ReturnType<typeof changePayment> {
  let rejected: WriteRejected | undefined;
  for (let last: Payment | undefined; ; ) {
    const before = last ?? (await requiredPayment(context, id));
    const changed = change(before);
    if (changed === undefined) return { before, payment: before, isChanged: false };
    const revoked = withItemRevoked(context, changed, rejected);
    const failed = await commitChange(context, before, revoked ?? changed);
    if (failed === undefined) {
      if (revoked !== undefined) report(context, revoked.payment, rejected);
      return { before, payment: (revoked ?? changed).payment, isChanged: true };
    }
    last = failed.write === undefined ? undefined : before;
    if (failed.write === undefined) continue;
    rejected = failed;
    // If the deletion failed, the item was changed or deleted meanwhile: try again without it.
    if (failed.write !== revoked?.deletion) throw failed;
  }
}

/**
 * The change with the deletion of the item; undefined if the item is not revoked.
 *
 * @param rejected why the item could not be deleted
 */
function withItemRevoked(
  context: Pick<PaymentContext, 'itemDeletion'>,
  { payment, writes = [] }: Change,
  rejected: WriteRejected | undefined,
): (Change & { readonly deletion: Write | undefined }) | undefined {
  const { item } = payment;
  if (item?.state !== 'made' || !isItemRevoked(payment)) return undefined;
  const deletion = rejected === undefined ? itemDeletionIn(context, item, payment) : undefined;
  const isGone = deletion !== undefined || rejected?.reason === 'missing';
  return {
    payment: { ...payment, item: { ...item, state: isGone ? 'deleted' : 'not_deleted' } },
    writes: deletion === undefined ? writes : [...writes, deletion],
    deletion,
  };
}

/** Undefined if the settings no longer allow the table. Then nobody can read the item either. */
function itemDeletionIn(
  { itemDeletion }: Pick<PaymentContext, 'itemDeletion'>,
  item: PaidItem,
  payment: Payment,
): Write | undefined {
  try {
    return itemDeletion(item.table, paidContent(item, payment));
  } catch (error) {
    if (error instanceof ServiceError) return undefined;
    throw error;
  }
}

function report(
  { log }: Pick<PaymentContext, 'log'>,
  { id: payment_id, item }: Payment,
  rejected: WriteRejected | undefined,
): void {
  if (item?.state === 'deleted') log.info('item_deleted', { payment_id });
  else log.warn('item_not_deleted', { payment_id, detail: rejected?.message });
}
