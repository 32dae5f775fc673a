import { ServiceError } from '../errors.ts';
import { chargeLeaseMs, processorKeyLifeMs, recoveryRoundChargesMax } from '../limits.ts';
import { errorFields } from '../log.ts';
import type { Write } from '../storage/engine.ts';
import { itemsOf } from '../storage/item-text.ts';
import { errorAnswer } from './answer.ts';
import { move } from './charge.ts';
import { driveCharge, settle, withoutToken } from './drive-charge.ts';
import { findPayment, type PaymentParts } from './parts.ts';
import { type OpenPayment, openPaymentsSpace, type Payment, paymentsSpace, tokenPlace } from './payment.ts';

/**
 * One round of finding out what became of charges that nobody drives: those left by a killed process and those in
 * doubt. Each is taken by moving its lease, so that of several processes one drives it, and then goes the normal
 * way on from step two, with the key it always had.
 */
export async function recoverPayments(parts: PaymentParts): Promise<void> {
  const due = await findDue(parts);
  await Promise.all(due.map((open) => recover(parts, open)));
}

interface Due {
  readonly id: string;
  /** The marker as it reads now; whoever changes it first has the lease. */
  readonly marker: string;
}

async function findDue({ engine, now }: PaymentParts): Promise<Due[]> {
  const due: Due[] = [];
  for await (const { id, name: marker } of itemsOf((await engine.scan(openPaymentsSpace))?.chunks ?? [])) {
    if ((JSON.parse(marker) as OpenPayment).leaseEndsAt <= now()) due.push({ id, marker });
    if (due.length === recoveryRoundChargesMax) break;
  }
  return due;
}

async function recover(parts: PaymentParts, due: Due): Promise<void> {
  try {
    const payment = await takeLease(parts, due);
    if (payment?.sealedToken === undefined) return;
    const age = parts.now() - Date.parse(payment.createdAt);
    if (age >= processorKeyLifeMs) return await giveToReview(parts, payment);
    await driveCharge(parts, payment, parts.sealer.open(payment.sealedToken, tokenPlace(payment.id)));
  } catch (error) {
    parts.log.error('charge_not_recovered', { payment_id: due.id, ...errorFields(error) });
  }
}

/** @returns the payment, in doubt and ours to drive, or undefined when another process was faster */
async function takeLease(parts: PaymentParts, { id, marker }: Due): Promise<Payment | undefined> {
  const payment = await findPayment(parts, id);
  if (payment === undefined) return undefined;
  const lease: OpenPayment = { leaseEndsAt: parts.now() + chargeLeaseMs };
  const taken: Payment = { ...payment, state: move(payment.state, 'in_doubt') };
  const writes: Write[] = [
    { kind: 'replace', space: openPaymentsSpace, id, value: JSON.stringify(lease), ifValue: marker },
    {
      kind: 'replace',
      space: paymentsSpace,
      id,
      value: JSON.stringify(taken),
      ifValue: JSON.stringify(payment),
    },
  ];
  return (await parts.engine.commit(writes)) === undefined ? taken : undefined;
}

const reviewMessage =
  'It could not be found out what became of this charge. It may have succeeded: look it up at the payment processor ' +
  'by its payment id before you charge again.';

/** The processor may have forgotten the key: asking again could charge twice, so a person must look. */
async function giveToReview(parts: PaymentParts, payment: Payment): Promise<void> {
  const error = new ServiceError('payment_outcome_unknown', { retryable: false, message: reviewMessage });
  const answer = errorAnswer(error, payment.requestId);
  const reviewed: Payment = { ...withoutToken(payment), state: move(payment.state, 'needs_review'), answer };
  await settle(parts, payment, reviewed, { freeKey: false });
  parts.log.error('charge_needs_review', { payment_id: payment.id, processor: payment.processor });
}
