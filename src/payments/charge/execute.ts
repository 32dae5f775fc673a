import { defined } from '../../defined.ts';
import { errorFields } from '../../log.ts';
import type { ChargeOutcome, Processor } from '../../processors/processor.ts';
import type { Trace } from '../../telemetry.ts';
import { findProcessor, type PaymentContext, type SettleChargeContext } from '../context.ts';
import { processorCallMsMax } from '../limits.ts';
import { type Payment, tokenKey, tokenPlace } from '../payment.ts';
import {
  describeOutcome,
  isConclusive,
  measureAge,
  resolveOutcome,
  unknownAfter,
} from '../resolve-outcome.ts';
import { resolveAuthentication } from './authenticate.ts';
import { sentDetails } from './details.ts';
import { cancelCharge, chargeLookup, closeDecline } from './look-up.ts';
import type { ObservedOutcome, Outcome } from './outcome.ts';
import { markForReview, settleCharge } from './settle.ts';

/**
 * The second step of a charge that this process owns: calls the processor once, and cancels the attempt if the card is
 * declined.
 */
export async function requestCharge(
  context: PaymentContext,
  payment: Payment,
  token: string,
  trace: Trace,
): Promise<ObservedOutcome> {
  const processor = findProcessor(context, payment.processor);
  const reply = await trace.step('ask', () =>
    callProcessor(context, processor, payment, token, false).catch(unknownAfter),
  );
  const outcome = await closeDecline(context, processor, payment, reply);
  return { outcome, basis: outcome === reply ? 'reply' : 'proof' };
}

/** The third step: stores the outcome. If that fails, the charge may have been made, and recovery resolves it. */
export async function settleReply(
  context: SettleChargeContext,
  payment: Payment,
  observed: ObservedOutcome,
  trace: Trace,
): Promise<Payment> {
  try {
    return await settle(context, payment, observed, trace);
  } catch (error) {
    context.log.error('charge_not_settled', { payment_id: payment.id, ...errorFields(error) });
    return payment;
  }
}

/**
 * Resumes a charge without an owner. While a caller may still want it and the processor is sure to remember its key,
 * the charge is requested again with the same key. If its outcome stays unknown, it is looked up at the processor. A
 * charge that no caller wants any more is canceled. Once the processor may have forgotten the key, the charge is only
 * looked up, because a repeated request could charge twice. A charge that waits for its cardholder is only looked up or
 * canceled.
 */
export async function resumeCharge(context: PaymentContext, payment: Payment): Promise<void> {
  await context.traces.charge({ name: 'recover_charge' }, async (trace) => {
    trace.set({ payment_id: payment.id, processor: payment.processor });
    if (payment.state === 'requires_action') await resolveAuthentication(context, payment);
    else await resume(context, payment, trace);
  });
}

async function resume(context: PaymentContext, payment: Payment, trace: Trace): Promise<void> {
  const processor = findProcessor(context, payment.processor);
  const { isKeyRemembered, isHopeless, isLate } = measureAge(payment.createdAt, context.now(), processor);
  const settleAs = (outcome: Outcome) => settle(context, payment, { outcome, basis: 'proof' }, trace);
  if (isKeyRemembered && !isWanted(payment, context.now())) {
    await settleAs(await trace.step('cancel', () => cancelCharge(context, processor, payment)));
    return;
  }
  const callAgain = isKeyRemembered ? repeatedCall(context, processor, payment, trace) : undefined;
  const lookUp = () => processor.findCharge(chargeLookup(context, processor, payment));
  const end = () => cancelCharge(context, processor, payment);
  const found = await resolveOutcome(callAgain, () => trace.step('look_up', lookUp), end);
  const ended = isConclusive(found) ? await closeDecline(context, processor, payment, found) : found;
  if (isConclusive(ended)) await settleAs(ended);
  else if (isHopeless || (isLate && ended.kind === 'absent')) await markForReview(context, payment.id);
  else await settleAs({ kind: 'unknown', detail: describeOutcome(ended) });
}

function repeatedCall(
  context: Pick<PaymentContext, 'sealer'>,
  processor: Processor,
  payment: Payment,
  trace: Trace,
) {
  const { id, sealedToken } = payment;
  if (sealedToken === undefined) return undefined;
  return () => {
    const token = context.sealer.open(sealedToken, tokenPlace(id));
    return trace.step('ask', () => callProcessor(context, processor, payment, token, true));
  };
}

/** Whether a caller may still want the charge. */
export function isWanted({ retryUntil, cancelRequestedAt }: Payment, now: number): boolean {
  return cancelRequestedAt === undefined && now < retryUntil;
}

async function settle(
  context: SettleChargeContext,
  payment: Payment,
  observed: ObservedOutcome,
  trace: Trace,
): Promise<Payment> {
  const settled = await trace.step('settle', () => settleCharge(context, payment.id, observed, payment));
  trace.set({ outcome: settled.state });
  return settled;
}

async function callProcessor(
  context: Pick<PaymentContext, 'sealer'>,
  processor: Processor,
  payment: Payment,
  token: string,
  isRecovery: boolean,
): Promise<ChargeOutcome> {
  const { id: paymentId, processorKey, amount, currency, route, keyEntry, returnUrl } = payment;
  return processor.charge({
    paymentId,
    processorKey,
    amount,
    currency,
    ...sentDetails(context, payment),
    request: { route, ...defined({ keyEntry }) },
    token,
    tokenKey: tokenKey(payment, token),
    ...defined({ returnUrl }),
    timeoutMs: processorCallMsMax,
    isRecovery,
  });
}
