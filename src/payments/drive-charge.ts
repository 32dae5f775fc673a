import { lookUpMsMax, processorCallMsMax } from '../limits.ts';
import { errorFields } from '../log.ts';
import type { ChargeOutcome, LookUp, Processor } from '../processors/processor.ts';
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
): Promise<PaymentAnswer> {
  const outcome = await ask(findProcessor(parts, payment.processor), payment, token).catch(unknownOf);
  try {
    return answerNow(await settleCharge(parts, payment.id, { outcome }, payment), { replayed: false });
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
  const processor = findProcessor(parts, payment.processor);
  const { id, sealedToken, createdAt } = payment;
  const { isKeyRemembered, isHopeless, isLate } = ageOf(createdAt, parts.now(), processor);
  const askAgain =
    isKeyRemembered && sealedToken !== undefined
      ? () => ask(processor, payment, parts.sealer.open(sealedToken, tokenPlace(id)))
      : undefined;
  const found = await findOut(askAgain, () => lookUp(parts, processor, payment));
  if (isKnown(found)) await settleCharge(parts, id, { outcome: found }, payment);
  else if (isHopeless || (isLate && found.kind === 'absent')) await giveToReview(parts, id);
  else await settleCharge(parts, id, { outcome: { kind: 'unknown', detail: detailOf(found) } });
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
