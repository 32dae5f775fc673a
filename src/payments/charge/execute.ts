import { errorFields } from '../../log.ts';
import type { ChargeOutcome, Processor } from '../../processors/processor.ts';
import type { Trace } from '../../tracing.ts';
import { findProcessor, type PaymentParts } from '../context.ts';
import { lookUpMsMax, processorCallMsMax } from '../limits.ts';
import { type Payment, tokenKey, tokenPlace } from '../payment.ts';
import { ageOf, detailOf, findOut, isKnown, unknownOf } from '../resolve-outcome.ts';
import type { Settlement } from './outcome.ts';
import { answerNow, type PaymentAnswer } from './response.ts';
import { type Finding, giveToReview, settleCharge } from './settle.ts';

/** The second and third step of a charge that this process drives: asks, and stores what became of it. */
export async function driveCharge(
  parts: PaymentParts,
  payment: Payment,
  token: string,
  trace: Trace,
): Promise<PaymentAnswer> {
  const processor = findProcessor(parts, payment.processor);
  const outcome = await trace.step('ask', () => ask(processor, payment, token, false).catch(unknownOf));
  try {
    const settled = await settle(parts, payment, { outcome, basis: 'reply' }, trace);
    return answerNow(settled, { replayed: false });
  } catch (error) {
    // The charge may have been made, and its record says "calling": recovery will tell the truth from there.
    parts.log.error('charge_not_settled', { payment_id: payment.id, ...errorFields(error) });
    return answerNow(payment, { replayed: false });
  }
}

/**
 * The way on for a charge that nobody drives any more. While somebody may still want it, and the processor surely remembers
 * its key, it is asked for again with the same key; what that leaves open is looked for on the processor's books. When
 * nobody wants it any more it is canceled. Once the key may be forgotten it is only looked for: asking could charge twice.
 */
export async function resumeCharge(parts: PaymentParts, payment: Payment): Promise<void> {
  await parts.traces.charge({ name: 'recover_charge' }, async (trace) => {
    trace.tell({ payment_id: payment.id, processor: payment.processor });
    await resume(parts, payment, trace);
  });
}

async function resume(parts: PaymentParts, payment: Payment, trace: Trace): Promise<void> {
  const processor = findProcessor(parts, payment.processor);
  const { isKeyRemembered, isHopeless, isLate } = ageOf(payment.createdAt, parts.now(), processor);
  const settleAs = (outcome: Settlement) => settle(parts, payment, { outcome, basis: 'proof' }, trace);
  if (isKeyRemembered && !isWanted(payment, parts.now())) {
    await settleAs(await trace.step('cancel', () => canceled(parts, processor, payment)));
    return;
  }
  const askAgain = isKeyRemembered ? again(parts, processor, payment, trace) : undefined;
  const lookUp = () => processor.findCharge(soughtOf(parts, processor, payment));
  const end = () => canceled(parts, processor, payment);
  const found = await findOut(askAgain, () => trace.step('look_up', lookUp), end);
  if (isKnown(found)) await settleAs(found);
  else if (isHopeless || (isLate && found.kind === 'absent')) await giveToReview(parts, payment.id);
  else await settleAs({ kind: 'unknown', detail: detailOf(found) });
}

function again(parts: PaymentParts, processor: Processor, payment: Payment, trace: Trace) {
  const { id, sealedToken } = payment;
  if (sealedToken === undefined) return undefined;
  return () => {
    const token = parts.sealer.open(sealedToken, tokenPlace(id));
    return trace.step('ask', () => ask(processor, payment, token, true));
  };
}

/** Whether a caller may still be waiting for it. */
export function isWanted({ wantedUntil, cancelRequestedAt }: Payment, now: number): boolean {
  return cancelRequestedAt === undefined && now < wantedUntil;
}

/**
 * Ends a charge at the processor, or returns what became of it. Once the processor may have forgotten the key it cannot be
 * taken out of use: then the charge is only looked up.
 */
export async function canceled(
  parts: PaymentParts,
  processor: Processor,
  payment: Payment,
): Promise<Settlement> {
  const { processorKey, currency, cancelRequestedAt } = payment;
  const sought = soughtOf(parts, processor, payment);
  if (!ageOf(payment.createdAt, parts.now(), processor).isKeyRemembered) {
    const found = await processor.findCharge(sought).catch(unknownOf);
    return isKnown(found) ? found : { kind: 'unknown', detail: detailOf(found) };
  }
  const silentMs = parts.now() - sought.askedUntil;
  const outcome = await processor
    .cancelCharge({ ...sought, processorKey, currency, silentMs })
    .catch(unknownOf);
  if (outcome.kind !== 'canceled') return outcome;
  return { kind: 'canceled', declineCode: cancelRequestedAt === undefined ? 'expired' : 'canceled' };
}

async function settle(
  parts: PaymentParts,
  payment: Payment,
  finding: Finding,
  trace: Trace,
): Promise<Payment> {
  const settled = await trace.step('settle', () => settleCharge(parts, payment.id, finding, payment));
  trace.tell({ outcome: settled.state });
  return settled;
}

async function ask(
  processor: Processor,
  payment: Payment,
  token: string,
  isRecovery: boolean,
): Promise<ChargeOutcome> {
  const { id: paymentId, processorKey, amount, currency } = payment;
  return processor.charge({
    paymentId,
    processorKey,
    amount,
    currency,
    token,
    tokenKey: tokenKey(payment, token),
    timeoutMs: processorCallMsMax,
    isRecovery,
  });
}

/** Nobody asks for a charge after its end or its cancellation, nor after the processor may have forgotten its key. */
export function soughtOf({ now }: PaymentParts, { keyLifeMs }: Processor, payment: Payment) {
  const { createdAt, cancelRequestedAt, wantedUntil } = payment;
  const askedFrom = Date.parse(createdAt);
  const canceledAt =
    cancelRequestedAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(cancelRequestedAt);
  const askedLast = Math.min(now(), wantedUntil, canceledAt, askedFrom + keyLifeMs);
  const askedUntil = Math.max(askedFrom, askedLast) + processorCallMsMax;
  return { paymentId: payment.id, askedFrom, askedUntil, timeoutMs: lookUpMsMax };
}
