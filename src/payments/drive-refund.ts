import { chargeSoughtMsMax, lookUpMsMax, processorCallMsMax } from '../limits.ts';
import { errorFields } from '../log.ts';
import type { LookUp, Processor, RefundOutcome } from '../processors/processor.ts';
import { findProcessor, type PaymentParts } from './parts.ts';
import type { Payment } from './payment.ts';
import { findRefund, type Refund } from './refund.ts';
import { type RefundAnswer, refundAnswerNow } from './refund-answer.ts';
import { giveRefundToReview, settleRefund } from './settle-refund.ts';

/** The second and third step of a refund that this process drives: asks, and stores what became of it. */
export async function driveRefund(
  parts: PaymentParts,
  payment: Payment,
  refundId: string,
): Promise<RefundAnswer> {
  const refund = findRefund(payment, refundId) as Refund;
  const outcome = await ask(findProcessor(parts, payment.processor), payment, refund);
  try {
    const settled = await settleRefund(parts, payment.id, refundId, { outcome });
    return refundAnswerNow(settled, { replayed: false });
  } catch (error) {
    // It may have been made, and its record says "calling": recovery will tell the truth from there.
    parts.log.error('refund_not_settled', {
      payment_id: payment.id,
      refund_id: refundId,
      ...errorFields(error),
    });
    return refundAnswerNow(refund, { replayed: false });
  }
}

/** The way on for a refund that nobody drives any more: as with a charge, and one that is pending is looked after. */
export async function resumeRefund(parts: PaymentParts, payment: Payment, refund: Refund): Promise<void> {
  const processor = findProcessor(parts, payment.processor);
  const ageMs = parts.now() - Date.parse(refund.createdAt);
  const isRemembered = ageMs < processor.keyLifeMs;
  const settle = (outcome: RefundOutcome) => settleRefund(parts, payment.id, refund.id, { outcome });
  if (isRemembered && refund.state !== 'pending') {
    const outcome = await ask(processor, payment, refund);
    if (isKnown(outcome)) return void (await settle(outcome));
  }
  const found = await lookUp(processor, payment, refund);
  if (found.kind !== 'absent' && isKnown(found)) return void (await settle(found));
  const isHopeless = found.kind === 'absent' || ageMs >= processor.keyLifeMs + chargeSoughtMsMax;
  if (!isRemembered && isHopeless && refund.state !== 'pending')
    return giveRefundToReview(parts, payment.id, refund.id);
  const detail = found.kind === 'absent' ? 'not on the books of the processor' : found.detail;
  await settle({ kind: 'unknown', detail });
}

async function ask(processor: Processor, payment: Payment, refund: Refund): Promise<RefundOutcome> {
  try {
    return await processor.refund({
      refundId: refund.id,
      paymentId: payment.id,
      chargeId: payment.chargeId ?? '',
      processorKey: refund.asked?.processorKey ?? '',
      amount: refund.amount,
      currency: payment.currency,
      timeoutMs: processorCallMsMax,
    });
  } catch (error) {
    return { kind: 'unknown', detail: `the adapter threw ${(error as Error).name}` };
  }
}

async function lookUp(
  processor: Processor,
  { chargeId = '' }: Payment,
  refund: Refund,
): Promise<LookUp<RefundOutcome>> {
  try {
    return await processor.findRefund({ refundId: refund.id, chargeId, timeoutMs: lookUpMsMax });
  } catch (error) {
    return { kind: 'unknown', detail: `the adapter threw ${(error as Error).name}` };
  }
}

type Open = Extract<RefundOutcome, { kind: 'not_taken' | 'unknown' }>;

/** Being turned away now proves nothing about an earlier attempt. */
function isKnown(outcome: RefundOutcome): outcome is Exclude<RefundOutcome, Open> {
  return outcome.kind !== 'unknown' && outcome.kind !== 'not_taken';
}
