import type { OpenAttempt, Period, ProcessorAccount } from '../../processors/processor.ts';
import { type ChargeAccount, noteAccount } from '../accounts.ts';
import { resolveAuthentication } from '../charge/authenticate.ts';
import { hasEnded } from '../charge-state.ts';
import type { PaymentContext } from '../context.ts';
import { isItemReservation, reserveItem } from '../fulfilment.ts';
import { openId, openMarkers, parseOpenId, restoreMarker } from '../ownership/marker.ts';
import { type Payment, paymentKeysSpace, paymentsSpace } from '../payment.ts';
import { created, findPayment, paymentCreation } from '../payment-store.ts';
import { adoptedPayment } from './record.ts';

/**
 * Ends the attempts that the store lacks and that a cardholder could still confirm. Each becomes a canceled payment
 * that waits for its cardholder, and then ends by the normal code. An attempt that was confirmed meanwhile succeeds,
 * with its item. Safe to repeat. Rejects if the records cannot be read, or if an attempt cannot be canceled.
 */
export async function endOpenAttempts(
  context: PaymentContext,
  processor: ProcessorAccount,
  account: ChargeAccount,
  period: Period,
): Promise<void> {
  for await (const attempt of processor.openAttempts(period)) {
    // Recovery ends the attempts that the store knows.
    if ((await findPayment(context, attempt.paymentId)) === undefined)
      await adopt(context, waitingFor(context, account, attempt));
  }
  for (const payment of await adoptedAttempts(context, processor)) {
    const after = await resolveAuthentication(context, payment);
    if (!hasEnded(after.state)) throw new Error(`the attempt of ${payment.id} was not canceled`);
  }
}

/**
 * The adopted payments of this processor that wait for their cardholders. Includes those of a command that was killed.
 */
async function adoptedAttempts(context: PaymentContext, { name }: ProcessorAccount): Promise<Payment[]> {
  const found: Payment[] = [];
  for await (const { id } of openMarkers(context.engine).list()) {
    const payment = await findPayment(context, parseOpenId(id).paymentId);
    const isWaiting = payment?.isAdopted && payment.state === 'requires_action';
    if (isWaiting && payment.processor === name) found.push(payment);
  }
  return found;
}

function waitingFor(context: PaymentContext, account: ChargeAccount, attempt: OpenAttempt): Payment {
  const { paymentId, attemptId } = attempt;
  return adoptedPayment(context, account, paymentId, attempt, {
    state: 'requires_action',
    cancelRequestedAt: new Date(context.now()).toISOString(),
    authentication: { attemptId, until: 0 },
  });
}

/**
 * Commits the payment, its marker, its key and the hold of its item. Leaves out a key or a hold that another payment
 * has.
 */
async function adopt(context: PaymentContext, payment: Payment): Promise<void> {
  const { id, keyEntry, item } = payment;
  let key = keyEntry === undefined ? [] : [created(paymentKeysSpace, keyEntry, id)];
  let adopted = payment;
  let hold = item === undefined ? [] : reserveItem(item, id);
  for (;;) {
    const writes = [
      paymentCreation(adopted),
      restoreMarker(context, openId(id), payment),
      noteAccount(payment),
      ...key,
      ...hold,
    ];
    const failure = await context.engine.commit(writes);
    if (failure === undefined) return;
    const failed = writes[failure.write];
    // Another process has adopted the attempt.
    if (failed?.space === paymentsSpace) return;
    if (failed?.space === paymentKeysSpace) key = [];
    else if (failed !== undefined && isItemReservation(failed)) {
      hold = [];
      const { item: _held, ...rest } = payment;
      adopted = { ...rest, itemProblem: 'item_held' };
    } else throw new Error(`the attempt of ${id} could not be adopted: ${failure.reason}`);
  }
}
