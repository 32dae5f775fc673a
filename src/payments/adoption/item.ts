import { ServiceError } from '../../errors.ts';
import type { Write } from '../../storage/engine.ts';
import type { PaymentContext } from '../context.ts';
import { awaitedItem, made } from '../fulfilment.ts';
import { isItemRevoked } from '../item-revocation.ts';
import type { ItemProblem, Payment } from '../payment.ts';

type Items = Pick<PaymentContext, 'routes' | 'itemWrite'>;

/**
 * The payment with the item that its route sells, from the metadata in the processor's records; or with the reason why the
 * item is not known.
 *
 * @param route undefined if the processor's records do not name it
 */
export function withItem(context: Items, payment: Payment, route: string | undefined): Payment {
  if (route === undefined) {
    const isSold = [...context.routes.values()].some(({ on_success }) => on_success !== undefined);
    return isSold ? { ...payment, itemProblem: 'route_unknown' } : payment;
  }
  const policy = context.routes.get(route);
  if (policy === undefined) return { ...payment, itemProblem: 'route_gone' };
  if (policy.on_success === undefined) return payment;
  try {
    return { ...payment, item: awaitedItem(policy.on_success, payment.id, payment.metadata) };
  } catch (error) {
    return { ...payment, itemProblem: problemOf(error, 'metadata_missing') };
  }
}

/** The payment of a charge that has succeeded, and the write that makes its item; none if its money was returned. */
export function withItemMade(context: Items, payment: Payment): { payment: Payment; write?: Write } {
  const { item } = payment;
  if (item === undefined) return { payment };
  if (isItemRevoked(payment)) return { payment: { ...payment, item: { ...item, state: 'not_made' } } };
  try {
    const write = made(context, payment);
    return { payment: { ...payment, item: { ...item, state: 'made' } }, ...(write && { write }) };
  } catch (error) {
    const itemProblem = problemOf(error, 'item_not_allowed');
    return { payment: { ...payment, item: { ...item, state: 'not_made' }, itemProblem } };
  }
}

function problemOf(error: unknown, problem: ItemProblem): ItemProblem {
  if (error instanceof ServiceError) return problem;
  throw error;
}
