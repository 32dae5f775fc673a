import type { Period, ProcessorAccount, ProcessorCharge } from '../processors/processor.ts';
import type { Write } from '../storage/engine.ts';
import { successResponse } from './charge/response.ts';
import { settleCharge } from './charge/settle.ts';
import type { PaymentContext } from './context.ts';
import { recordsSlackMs } from './limits.ts';
import {
  chargeEntry,
  chargesSpace,
  madeAt,
  type Payment,
  paymentKeysSpace,
  paymentsSpace,
} from './payment.ts';
import { changePayment, findPayment, textOf } from './payment-store.ts';
import { withRefund } from './refund/amounts.ts';

/** What the store has learned from the processor's records. */
export interface Adopted {
  readonly paymentId: string;
  readonly chargeId: string;
  /** `payment`: the store lacked it; `key`: with its idempotency key; `outcome`: the store had it open or declined; `refund`. */
  readonly what: 'payment' | 'payment with its key' | 'outcome' | 'refund';
  /** In the smallest unit of the currency; of a refund, what the store lacked. */
  readonly amount: number;
  readonly currency: string;
}

/**
 * Brings the store up to the processor's records of a period: charges of ours that it lacks become payments, charges that it
 * believes open or declined end as they did, and refunds that it lacks are noted. Requests nothing. Safe to repeat. Rejects when the records
 * cannot be read to their end.
 */
export async function* adoptCharges(
  context: PaymentContext,
  processor: ProcessorAccount,
  period: Period,
): AsyncGenerator<Adopted> {
  const account = await context.accounts.required(processor);
  const until = period.until + recordsSlackMs;
  for await (const charge of processor.charges({ ...period, until })) {
    const { paymentId, chargeId, amount, currency } = charge;
    if (paymentId === undefined) continue;
    const found = { paymentId, chargeId, amount, currency };
    const before = await findPayment(context, paymentId);
    if (before === undefined) {
      const hasKey = await create(context, paymentOf(processor.name, account, paymentId, charge));
      yield { ...found, what: hasKey ? 'payment with its key' : 'payment' };
    } else if (before.processor === processor.name && before.chargeId === undefined) {
      await settleCharge(context, paymentId, { outcome: { kind: 'succeeded', chargeId }, basis: 'proof' });
      yield { ...found, what: 'outcome' };
    }
    const refunded = await noteRefunds(context, paymentId, charge);
    if (refunded > 0) yield { ...found, what: 'refund', amount: refunded };
  }
}

function paymentOf(
  processor: string,
  account: string | undefined,
  id: string,
  { chargeId, amount, currency, request }: ProcessorCharge,
): Payment {
  const { route = adoptedRoute, keyEntry } = request ?? {};
  return {
    id,
    state: 'succeeded',
    isAdopted: true,
    ...(request === undefined ? { isKeyUnknown: true } : {}),
    processor,
    ...(account === undefined ? {} : { account }),
    route,
    amount,
    currency,
    tokenDigest: '',
    processorKey: '',
    attempts: 1,
    ...(keyEntry === undefined ? {} : { keyEntry }),
    requestId: '',
    createdAt: new Date(madeAt(id)).toISOString(),
    wantedUntil: 0,
    chargeId,
    response: successResponse(chargeId),
  };
}

/** The route of a charge whose records do not name one: that of the examples and of most services. */
const adoptedRoute = 'charge';

/** @returns whether its idempotency key is known now */
async function create(context: PaymentContext, payment: Payment): Promise<boolean> {
  const { id, keyEntry, processor, chargeId = '' } = payment;
  const made = (space: Write['space'], of: string, value: string): Write => {
    return { kind: 'create', space, id: of, value, makeSpace: true };
  };
  const writes = [
    made(paymentsSpace, id, textOf(payment)),
    made(chargesSpace, chargeEntry(processor, chargeId), id),
  ];
  const key = keyEntry === undefined ? [] : [made(paymentKeysSpace, keyEntry, id)];
  const failure = await context.engine.commit([...writes, ...key]);
  if (failure === undefined) return key.length > 0;
  const holder =
    failure.write < writes.length ? undefined : await context.engine.get(paymentKeysSpace, keyEntry ?? '');
  if (holder === undefined) throw new Error(`payment ${id} could not be adopted: ${failure.reason}`);
  const isFreed = await giveUpKey(context, holder);
  const taken = { ...made(paymentKeysSpace, keyEntry ?? '', id), kind: 'put' } as Write;
  const failed = await context.engine.commit(isFreed ? [...writes, taken] : writes);
  if (failed !== undefined) throw new Error(`payment ${id} could not be adopted: ${failed.reason}`);
  return isFreed;
}

/**
 * Another payment of the store has the key of a charge. It has lost the key since the backup, which happens only when it turned out that
 * nothing was charged for it. Recovery must not charge it now: the charge was made for the request that repeated the key.
 *
 * @returns false if it was charged all the same: then its response stays the one of the key
 */
async function giveUpKey(context: PaymentContext, holder: string): Promise<boolean> {
  const { chargeId } = await settleCharge(context, holder, {
    outcome: { kind: 'canceled', declineCode: 'canceled' },
    basis: 'proof',
  });
  return chargeId === undefined;
}

/** @returns the amount of the refunds that the store lacked. While one of ours is open, recovery finds out its outcome. */
async function noteRefunds(
  context: Pick<PaymentContext, 'engine'>,
  paymentId: string,
  { chargeId, amountRefunded }: ProcessorCharge,
): Promise<number> {
  let lacking = 0;
  await changePayment(context, paymentId, (before) => {
    const { refunds = [] } = before;
    const isOpen = refunds.some(({ state }) => state === 'calling' || state === 'in_doubt');
    const known = refunds.filter(({ state }) => state === 'succeeded' || state === 'pending');
    lacking = isOpen ? 0 : Math.max(0, amountRefunded - known.reduce((sum, { amount }) => sum + amount, 0));
    if (lacking === 0 || before.chargeId !== chargeId) return undefined;
    const createdAt = new Date().toISOString();
    const id = `adopted_${chargeId}_${amountRefunded}`;
    return { payment: withRefund(before, { id, state: 'succeeded', amount: lacking, createdAt }) };
  });
  return lacking;
}
