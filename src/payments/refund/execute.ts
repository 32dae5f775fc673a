import { errorFields } from '../../log.ts';
import type { Processor, RefundOutcome } from '../../processors/processor.ts';
import { findProcessor, type PaymentContext, type SettleRefundContext } from '../context.ts';
import { lookUpMsMax, processorCallMsMax, refundArrivalMsMax } from '../limits.ts';
import type { Payment } from '../payment.ts';
import type { Refund } from '../refund-state.ts';
import {
  describeOutcome,
  isConclusive,
  measureAge,
  resolveOutcome,
  unknownAfter,
} from '../resolve-outcome.ts';
import { findRefund } from './amounts.ts';
import { currentRefundResponse, type RefundResponse } from './response.ts';
import { markRefundForReview, settleRefund } from './settle.ts';

/** The second and third step of a refund that this process owns: calls the processor and stores the outcome. */
export async function executeRefund(
  context: SettleRefundContext & Pick<PaymentContext, 'processors'>,
  payment: Payment,
  refundId: string,
): Promise<RefundResponse> {
  const refund = findRefund(payment, refundId) as Refund;
  const processor = findProcessor(context, payment.processor);
  const outcome = await callProcessor(processor, payment, refund, false).catch(unknownAfter);
  try {
    const settled = await settleRefund(context, payment.id, refundId, { outcome, basis: 'reply' });
    return currentRefundResponse(settled, { replayed: false });
  } catch (error) {
    // The refund may have been made although its record says "calling". Recovery resolves it.
    const ids = { payment_id: payment.id, refund_id: refundId };
    context.log.error('refund_not_settled', { ...ids, ...errorFields(error) });
    return currentRefundResponse(refund, { replayed: false });
  }
}

/** Resumes a refund without an owner, as `resumeCharge` does for a charge. A pending refund is only looked up. */
export async function resumeRefund(
  context: SettleRefundContext & Pick<PaymentContext, 'processors'>,
  payment: Payment,
  refund: Refund,
): Promise<void> {
  const processor = findProcessor(context, payment.processor);
  const { isKeyRemembered, isHopeless, isLate } = measureAge(refund.createdAt, context.now(), processor);
  const isPending = refund.state === 'pending';
  const callAgain =
    isKeyRemembered && !isPending ? () => callProcessor(processor, payment, refund, true) : undefined;
  const { chargeId = '' } = payment;
  const sought = { refundId: refund.id, chargeId, timeoutMs: lookUpMsMax };
  const end = async () => {
    const isOver = context.now() - Date.parse(refund.createdAt) > refundArrivalMsMax;
    return isOver ? ({ kind: 'canceled' } as const) : unfinished;
  };
  const found = await resolveOutcome(callAgain, () => processor.findRefund(sought), end);
  const settle = (outcome: RefundOutcome) =>
    settleRefund(context, payment.id, refund.id, { outcome, basis: 'proof' });
  if (isConclusive(found)) await settle(found);
  else if (!isPending && (isHopeless || (isLate && found.kind === 'absent')))
    await markRefundForReview(context, payment.id, refund.id);
  else await settle({ kind: 'unknown', detail: describeOutcome(found) });
}

const unfinished = { kind: 'unknown', detail: 'an earlier request may be under way' } as const;

async function callProcessor(
  processor: Processor,
  payment: Payment,
  refund: Refund,
  isRecovery: boolean,
): Promise<RefundOutcome> {
  return processor.refund({
    refundId: refund.id,
    paymentId: payment.id,
    chargeId: payment.chargeId ?? '',
    processorKey: refund.requested?.processorKey ?? '',
    amount: refund.amount,
    currency: payment.currency,
    timeoutMs: processorCallMsMax,
    isRecovery,
  });
}
