import { chargeSoughtMsMax, lookUpMsMax, processorCallMsMax } from '../limits.ts';
import { errorFields } from '../log.ts';
import type { ChargeOutcome, LookUp, Processor } from '../processors/processor.ts';
import { answerNow, type PaymentAnswer } from './answer.ts';
import { findProcessor, type PaymentParts } from './parts.ts';
import { type Payment, tokenPlace } from './payment.ts';
import { giveToReview, settleCharge } from './settle-charge.ts';

/** The second and third step of a charge that this process drives: asks, and stores what became of it. */
export async function driveCharge(
  parts: PaymentParts,
  payment: Payment,
  token: string,
): Promise<PaymentAnswer> {
  const outcome = await ask(findProcessor(parts, payment.processor), payment, token);
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
  const { id, sealedToken } = payment;
  const ageMs = parts.now() - Date.parse(payment.createdAt);
  let refusal: ChargeOutcome | undefined;
  const isRemembered = ageMs < processor.keyLifeMs && sealedToken !== undefined;
  if (isRemembered) {
    const outcome = await ask(processor, payment, parts.sealer.open(sealedToken, tokenPlace(id)));
    if (isKnown(outcome) && outcome.kind !== 'refused')
      return void (await settleCharge(parts, id, { outcome }, payment));
    refusal = outcome;
  }
  const found = await lookUp(parts, processor, payment);
  if (found.kind !== 'absent' && isKnown(found))
    return void (await settleCharge(parts, id, { outcome: found }, payment));
  // What is refused now may be refused because an earlier attempt went through: its token is used up.
  if (refusal?.kind === 'refused' && found.kind === 'absent')
    return void (await settleCharge(parts, id, { outcome: refusal }, payment));
  const isHopeless = found.kind === 'absent' || ageMs >= processor.keyLifeMs + chargeSoughtMsMax;
  if (!isRemembered && isHopeless) return giveToReview(parts, id);
  const detail = found.kind === 'absent' ? 'not on the books of the processor' : found.detail;
  await settleCharge(parts, id, { outcome: { kind: 'unknown', detail } });
}

async function ask(processor: Processor, payment: Payment, token: string): Promise<ChargeOutcome> {
  const { id: paymentId, processorKey, amount, currency } = payment;
  try {
    return await processor.charge({
      paymentId,
      processorKey,
      amount,
      currency,
      token,
      timeoutMs: processorCallMsMax,
    });
  } catch (error) {
    return { kind: 'unknown', detail: `the adapter threw ${(error as Error).name}` };
  }
}

async function lookUp(
  { now }: PaymentParts,
  processor: Processor,
  { id: paymentId, createdAt }: Payment,
): Promise<LookUp<ChargeOutcome>> {
  const askedFrom = Date.parse(createdAt);
  try {
    return await processor.findCharge({
      paymentId,
      askedFrom,
      askedUntil: Math.min(now(), askedFrom + processor.keyLifeMs) + processorCallMsMax,
      timeoutMs: lookUpMsMax,
    });
  } catch (error) {
    return { kind: 'unknown', detail: `the adapter threw ${(error as Error).name}` };
  }
}

type Open = Extract<ChargeOutcome, { kind: 'not_taken' | 'unknown' }>;

/** Being turned away now proves nothing about an earlier attempt. */
function isKnown(outcome: ChargeOutcome): outcome is Exclude<ChargeOutcome, Open> {
  return outcome.kind !== 'unknown' && outcome.kind !== 'not_taken';
}
