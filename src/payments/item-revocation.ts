import { ServiceError } from '../errors.ts';
import type { Write } from '../storage/engine.ts';
import type { PaymentContext } from './context.ts';
import { contentOf } from './fulfilment.ts';
import type { PaidItem, Payment, Revocation } from './payment.ts';
import { type Change, changePayment, WriteRejected } from './payment-store.ts';
import { isFullyRefunded } from './refund/amounts.ts';

/**
 * Whether the money for the item has been returned, and the route deletes its item then: all of it was refunded, or a
 * dispute took it back. The amount of a dispute does not matter, because it may differ from that of the charge
 * (https://docs.stripe.com/api/disputes/object#dispute_object-amount).
 */
export function isItemRevoked(payment: Payment): boolean {
  const { item, disputes = [] } = payment;
  const isReturned = (cause: Revocation) =>
    cause === 'refund' ? isFullyRefunded(payment) : disputes.some(({ isWithdrawn }) => isWithdrawn === true);
  return item?.revokedBy?.some(isReturned) ?? false;
}

/**
 * Changes a payment as `changePayment` does, for a change that may return its money. A revoked item is deleted in the same
 * commit if it is still what the payment made. If it is not, it is left alone, and the change is committed without it.
 */
export async function changeRevokingItem(
  context: Pick<PaymentContext, 'engine' | 'log' | 'itemDeletion'>,
  id: string,
  change: (payment: Payment) => Change | undefined,
): Promise<{ readonly payment: Payment; readonly isChanged: boolean }> {
  let rejected: WriteRejected | undefined;
  for (;;) {
    let deletion: Write | undefined;
    let isRevoked = false;
    try {
      const result = await changePayment(context, id, (before) => {
        const changed = change(before);
        const item = changed?.payment.item;
        isRevoked = changed !== undefined && item?.state === 'made' && isItemRevoked(changed.payment);
        if (changed === undefined || item === undefined || !isRevoked) return changed;
        deletion = rejected === undefined ? deletionOf(context, item, changed.payment) : undefined;
        const isGone = deletion !== undefined || rejected?.reason === 'missing';
        return withItem(changed, { ...item, state: isGone ? 'deleted' : 'not_deleted' }, deletion);
      });
      if (result.isChanged && isRevoked) report(context, result.payment, rejected);
      return result;
    } catch (error) {
      if (!(error instanceof WriteRejected) || error.write === undefined || error.write !== deletion)
        throw error;
      // The item was changed or deleted meanwhile.
      rejected = error;
    }
  }
}

/** Undefined if the settings no longer allow the table: then nobody can read the item either. */
function deletionOf(
  { itemDeletion }: Pick<PaymentContext, 'itemDeletion'>,
  item: PaidItem,
  payment: Payment,
): Write | undefined {
  try {
    return itemDeletion(item.table, contentOf(item, payment));
  } catch (error) {
    if (error instanceof ServiceError) return undefined;
    throw error;
  }
}

function withItem({ payment, writes = [] }: Change, item: PaidItem, deletion: Write | undefined): Change {
  return {
    payment: { ...payment, item },
    writes: deletion === undefined ? writes : [...writes, deletion],
  };
}

function report(
  { log }: Pick<PaymentContext, 'log'>,
  { id: payment_id, item }: Payment,
  rejected: WriteRejected | undefined,
): void {
  if (item?.state === 'deleted') log.info('item_deleted', { payment_id });
  else log.warn('item_not_deleted', { payment_id, detail: rejected?.message });
}
