import { lookUpMsMax, processorCallMsMax } from '../limits.ts';
import { errorFields } from '../log.ts';
import type { ChargeOutcome, LookUp, Processor } from '../processors/processor.ts';
import type { Trace } from '../tracing.ts';
import { answerNow, type PaymentAnswer } from './answer.ts';
import { ageOf, detailOf, findOut, isKnown, unknownOf } from './find-out.ts';
import { findProcessor, type PaymentParts } from './parts.ts';
import { type Payment, tokenPlace } from './payment.ts';
import { giveToReview, settleCharge } from './settle-charge.ts';

/** The second and third step of a charge that this process drives: asks, and stores what became of it. */
export async function driveCharge(
  parts: PaymentParts,
  payment: Payment,
  token: string,
  trace: Trace,
): Promise<PaymentAnswer> {
  const processor = findProcessor(parts, payment.processor);
  const outcome = await trace.step('ask', () => ask(processor, payment, token).catch(unknownOf));
  try {
    const settled = await settle(parts, payment, outcome, trace);
    return answerNow(settled, { replayed: false });
  } catch (error) {
    // The charge may have been made, and its record says "calling": recovery will tell the truth from there.
    parts.log.error('charge_not_settled', { payment_id: payment.id, ...errorFields(error) });
    return answerNow(payment, { replayed: false });
  }
}

/**
 * The way on for a charge that nobody drives any more: while the processor surely remembers its key it is asked
 * again, with the same key; what that leaves open is looked for on the processor's books. Then it is looked for
 * alone: asking could charge twice.
 */
export async function resumeCharge(parts: PaymentParts, payment: Payment): Promise<void> {
  await parts.traces.charge({ name: 'recover_charge' }, async (trace) => {
    trace.tell({ payment_id: payment.id, processor: payment.processor });
    await resume(parts, payment, trace);
  });
}

async function resume(parts: PaymentParts, payment: Payment, trace: Trace): Promise<void> {
  const processor = findProcessor(parts, payment.processor);
  const { id, sealedToken, createdAt } = payment;
  const { isKeyRemembered, isHopeless, isLate } = ageOf(createdAt, parts.now(), processor);
  const askAgain =
    isKeyRemembered && sealedToken !== undefined
      ? () => {
          const token = parts.sealer.open(sealedToken, tokenPlace(id));
          return trace.step('ask', () => ask(processor, payment, token));
        }
      : undefined;
  const found = await findOut(askAgain, () => trace.step('look_up', () => lookUp(parts, processor, payment)));
  if (isKnown(found)) await settle(parts, payment, found, trace);
  else if (isHopeless || (isLate && found.kind === 'absent')) await giveToReview(parts, id);
  else await settle(parts, payment, { kind: 'unknown', detail: detailOf(found) }, trace);
}

async function settle(
  parts: PaymentParts,
  payment: Payment,
  outcome: ChargeOutcome,
  trace: Trace,
): Promise<Payment> {
  const settled = await trace.step('settle', () => settleCharge(parts, payment.id, { outcome }, payment));
  trace.tell({ outcome: settled.state });
  return settled;
}

async function ask(processor: Processor, payment: Payment, token: string): Promise<ChargeOutcome> {
  const { id: paymentId, processorKey, amount, currency } = payment;
  const timeoutMs = processorCallMsMax;
  return processor.charge({ paymentId, processorKey, amount, currency, token, timeoutMs });
}

async function lookUp(
  { now }: PaymentParts,
  processor: Processor,
  { id: paymentId, createdAt }: Payment,
): Promise<LookUp<ChargeOutcome>> {
  const askedFrom = Date.parse(createdAt);
  const askedLast = Math.max(askedFrom, Math.min(now(), askedFrom + processor.keyLifeMs));
  const askedUntil = askedLast + processorCallMsMax;
  return processor.findCharge({ paymentId, askedFrom, askedUntil, timeoutMs: lookUpMsMax });
}
