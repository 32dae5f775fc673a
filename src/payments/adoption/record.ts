import { ServiceError } from '../../errors.ts';
import type { OpenAttempt, ProcessorCharge } from '../../processors/processor.ts';
import type { Write } from '../../storage/engine.ts';
import { type ChargeAccount, pickAccount } from '../accounts.ts';
import type { PaymentContext } from '../context.ts';
import { awaitedItem, made } from '../fulfilment.ts';
import { isItemRevoked } from '../item-revocation.ts';
import { type ItemProblem, madeAt, type Payment } from '../payment.ts';

/** Makes the record of a payment that the store lacked from the processor's records. */

/** The assumed route of a charge whose records do not name one. The examples and most services use this name. */
const adoptedRoute = 'charge';

/**
 * The payment of a charge or an attempt, with the item that its route sells. The item is not made yet.
 *
 * @param rest the fields that differ between a charge and an attempt
 */
export function adoptedPayment(
  context: Items,
  account: ChargeAccount,
  paymentId: string,
  { amount, currency, request, metadata }: ProcessorCharge | OpenAttempt,
  rest: Pick<Payment, 'state'> & Partial<Payment>,
): Payment {
  const { route, keyEntry } = request ?? {};
  const payment: Payment = {
    id: paymentId,
    isAdopted: true,
    ...pickAccount(account),
    route: route ?? adoptedRoute,
    amount,
    currency,
    ...(metadata && { metadata }),
    tokenDigest: '',
    processorKey: '',
    attempts: 1,
    ...(keyEntry !== undefined && { keyEntry }),
    requestId: '',
    createdAt: new Date(madeAt(paymentId)).toISOString(),
    retryUntil: 0,
    ...rest,
  };
  return withItem(context, payment, route);
}

type Items = Pick<PaymentContext, 'routes' | 'itemWrite'>;

/**
 * Adds the item that the payment's route sells, from the metadata in the processor's records, or the reason why the
 * item is unknown.
 *
 * @param route undefined if the processor's records do not name it
 */
function withItem(context: Items, payment: Payment, route: string | undefined): Payment {
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
    return { ...payment, itemProblem: problemAfter(error, 'metadata_missing') };
  }
}

/**
 * The payment of a charge that has succeeded, and the write that makes its item. There is no write if the money was
 * returned.
 */
export function withItemMade(context: Items, payment: Payment): { payment: Payment; write?: Write } {
  const { item } = payment;
  if (item === undefined) return { payment };
  if (isItemRevoked(payment)) return { payment: { ...payment, item: { ...item, state: 'not_made' } } };
  try {
    const write = made(context, payment);
    return { payment: { ...payment, item: { ...item, state: 'made' } }, ...(write && { write }) };
  } catch (error) {
    const itemProblem = problemAfter(error, 'item_not_allowed');
    return { payment: { ...payment, item: { ...item, state: 'not_made' }, itemProblem } };
  }
}

function problemAfter(error: unknown, problem: ItemProblem): ItemProblem {
  if (error instanceof ServiceError) return problem;
  throw error;
}
