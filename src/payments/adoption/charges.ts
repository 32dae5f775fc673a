import type { Period, ProcessorAccount, ProcessorCharge } from '../../processors/processor.ts';
import type { Write } from '../../storage/engine.ts';
import { type ChargeAccount, noteAccount } from '../accounts.ts';
import { successResponse } from '../charge/response.ts';
import { settleCharge } from '../charge/settle.ts';
import type { PaymentContext } from '../context.ts';
import { changeRevokingItem } from '../item-revocation.ts';
import { type PaidItem, type Payment, paymentKeysSpace, paymentsSpace } from '../payment.ts';
import { chargeCreation, created, findPayment, paymentCreation } from '../payment-store.ts';
import { withRefund } from '../refund/amounts.ts';
import type { Refund } from '../refund-state.ts';
import { adoptedPayment, withItemMade } from './record.ts';

/** What the store has learned from the processor's records. */
export interface Adopted {
  readonly paymentId: string;
  readonly chargeId: string;
  /**
   * `payment` and `payment with its key`: the store lacked the payment, and now has it without or with its idempotency
   * key. `outcome`: the store had the charge as open or declined. `refund`: the store lacked a refund.
   */
  readonly what: 'payment' | 'payment with its key' | 'outcome' | 'refund';
  /** In the smallest unit of the currency. For a refund, the amount that the store lacked. */
  readonly amount: number;
  readonly currency: string;
  /** The item that was made in the same commit. */
  readonly item?: PaidItem;
}

/**
 * Brings the store up to date with the processor's records of a period. Missing charges become payments, with the items
 * of their routes. Charges that the store has as open or declined get their real outcome. Missing refunds are recorded.
 * No charge and no refund is requested. Safe to repeat, and to run in several processes at once. Rejects if the records
 * cannot be read to their end.
 */
export async function* adoptCharges(
  context: PaymentContext,
  processor: ProcessorAccount,
  account: ChargeAccount,
  period: Period,
): AsyncGenerator<Adopted> {
  for await (const charge of processor.charges(period)) {
    const { paymentId, chargeId, amount, currency } = charge;
    if (paymentId === undefined) continue;
    const found = { paymentId, chargeId, amount, currency };
    const before = await findPayment(context, paymentId);
    const isOurs = before?.processor === processor.name;
    if (before === undefined) {
      const created = await create(context, recordPayment(context, account, paymentId, charge));
      if (created !== undefined)
        yield {
          ...found,
          what: created.hasKey ? 'payment with its key' : 'payment',
          ...madeItem(created.payment),
        };
    } else if (isOurs && before.chargeId === undefined) {
      const outcome = { kind: 'succeeded', chargeId, taken: { amount, currency } } as const;
      const settled = await settleCharge(context, paymentId, { outcome, basis: 'proof' });
      yield { ...found, what: 'outcome', ...madeItem(settled) };
    }
    const refunded = await noteRefunds(context, paymentId, charge);
    if (refunded > 0) yield { ...found, what: 'refund', amount: refunded };
  }
}

function madeItem({ item }: Payment): Pick<Adopted, 'item'> {
  return item?.state === 'made' ? { item } : {};
}

function recordPayment(
  context: PaymentContext,
  account: ChargeAccount,
  paymentId: string,
  charge: ProcessorCharge,
): Payment {
  const { chargeId, request, amountRefunded } = charge;
  return adoptedPayment(context, account, paymentId, charge, {
    state: 'succeeded',
    ...(request === undefined && { isKeyUnknown: true }),
    chargeId,
    response: successResponse(chargeId),
    ...(amountRefunded !== 0 && { refunds: [adoptedRefund(chargeId, amountRefunded, amountRefunded)] }),
  });
}

/**
 * Commits the payment with its charge id, its idempotency key and its item.
 *
 * @returns the payment, and whether its idempotency key is known now; undefined if another process has adopted the
 *   payment meanwhile
 */
async function create(
  context: PaymentContext,
  payment: Payment,
): Promise<{ readonly payment: Payment; readonly hasKey: boolean } | undefined> {
  const { id, processor, chargeId = '', keyEntry } = payment;
  let made = withItemMade(context, payment);
  let key = keyEntry === undefined ? [] : [created(paymentKeysSpace, keyEntry, id)];
  for (;;) {
    const writes = [
      paymentCreation(made.payment),
      chargeCreation(processor, chargeId, id),
      noteAccount(payment),
      ...key,
      ...(made.write === undefined ? [] : [made.write]),
    ];
    const failure = await context.engine.commit(writes);
    if (failure === undefined) return { payment: made.payment, hasKey: key.length > 0 };
    const failed = writes[failure.write];
    if (failed?.space === paymentsSpace) return undefined;
    if (failed === made.write) made = { payment: withItemState(made.payment, 'conflict') };
    else if (failed === key[0] && failed !== undefined) key = await takenKey(context, failed, id);
    else throw new Error(`payment ${id} could not be adopted: ${failed?.space} ${failure.reason}`);
  }
}

function withItemState(payment: Payment, state: PaidItem['state']): Payment {
  return payment.item === undefined ? payment : { ...payment, item: { ...payment.item, state } };
}

/**
 * Takes the idempotency key of an adopted charge from the payment that has the key in the restored store. After the
 * backup, that payment gave up its key, which happens only if nothing was charged for it. So it is canceled: recovery
 * must not charge it, because the repeated request was charged instead.
 *
 * @returns the write that takes the key; none if the other payment was charged after all, and so keeps the key
 */
async function takenKey(context: PaymentContext, key: Write, id: string): Promise<Write[]> {
  const holder = await context.engine.get(key.space, key.id);
  if (holder === undefined) return [key];
  const { chargeId } = await settleCharge(context, holder, {
    outcome: { kind: 'canceled', declineCode: 'canceled' },
    basis: 'proof',
  });
  if (chargeId !== undefined) return [];
  return [{ kind: 'put', space: key.space, id: key.id, value: id, makeSpace: true }];
}

/**
 * Records the refunds of a charge that the store lacks, and deletes the item if the payment's rules say so. Records
 * nothing while a refund of the payment is open, because recovery finds out the outcome of that refund.
 *
 * @returns the amount that the store lacked
 */
async function noteRefunds(
  context: PaymentContext,
  paymentId: string,
  { chargeId, amountRefunded }: ProcessorCharge,
): Promise<number> {
  let lacking = 0;
  await changeRevokingItem(context, paymentId, (before) => {
    const { refunds = [] } = before;
    const isOpen = refunds.some(({ state }) => state === 'calling' || state === 'in_doubt');
    const known = refunds.filter(({ state }) => state === 'succeeded' || state === 'pending');
    lacking = isOpen ? 0 : Math.max(0, amountRefunded - known.reduce((sum, { amount }) => sum + amount, 0));
    if (before.chargeId !== chargeId) lacking = 0;
    if (lacking === 0) return undefined;
    return { payment: withRefund(before, adoptedRefund(chargeId, amountRefunded, lacking)) };
  });
  return lacking;
}

/**
 * @param total the sum of all refunds of the charge. It is part of the id, so a repeated run records the refund once
 */
function adoptedRefund(chargeId: string, total: number, amount: number): Refund {
  const id = `adopted_${chargeId}_${total}`;
  return { id, state: 'succeeded', amount, createdAt: new Date().toISOString() };
}
