import { errorFields } from '../../log.ts';
import type { ChargeOutcome, ChargeRequest, Processor } from '../../processors/processor.ts';
import type { Trace } from '../../tracing.ts';
import { findProcessor, type PaymentContext, type SettleChargeContext } from '../context.ts';
import { processorCallMsMax } from '../limits.ts';
import { type Payment, tokenKey, tokenPlace } from '../payment.ts';
import { ageOf, detailOf, isConclusive, resolveOutcome, unknownOf } from '../resolve-outcome.ts';
import { resolveAuthentication } from './authenticate.ts';
import { closeDecline } from './close-decline.ts';
import { sentDetails } from './details.ts';
import type { Finding, Settlement } from './outcome.ts';
import { currentResponse, type PaymentResponse } from './response.ts';
import { markForReview, settleCharge } from './settle.ts';
import { soughtOf } from './sought.ts';

/** The second and third step of a charge that this process owns: calls the processor and stores the outcome. */
export async function executeCharge(
  context: PaymentContext,
  payment: Payment,
  token: string,
  trace: Trace,
): Promise<PaymentResponse> {
  const processor = findProcessor(context, payment.processor);
  const reply = await trace.step('ask', () =>
    callProcessor(context, processor, payment, token, false).catch(unknownOf),
  );
  const outcome = await closeDecline(context, processor, payment, reply);
  const basis = outcome === reply ? 'reply' : 'proof';
  try {
    const settled = await settle(context, payment, { outcome, basis }, trace);
    return currentResponse(context, settled, { replayed: false });
  } catch (error) {
    // The charge may have been made, but its record says "calling": recovery resolves it.
    context.log.error('charge_not_settled', { payment_id: payment.id, ...errorFields(error) });
    return currentResponse(context, payment, { replayed: false });
  }
}

/**
 * Resumes a charge without an owner. While a caller may still want it and the processor is sure to remember its key, the
 * charge is requested again with the same key; if its outcome stays unknown, it is looked up at the processor. A charge
 * that no caller wants any more is canceled. Once the processor may have forgotten the key, the charge is only looked up:
 * a repeated request could charge twice. A charge that waits for its cardholder is only looked up or canceled.
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
  const { isKeyRemembered, isHopeless, isLate } = ageOf(payment.createdAt, context.now(), processor);
  const settleAs = (outcome: Settlement) => settle(context, payment, { outcome, basis: 'proof' }, trace);
  if (isKeyRemembered && !isWanted(payment, context.now())) {
    await settleAs(await trace.step('cancel', () => canceled(context, processor, payment)));
    return;
  }
  const callAgain = isKeyRemembered ? repeatedCall(context, processor, payment, trace) : undefined;
  const lookUp = () => processor.findCharge(soughtOf(context, processor, payment));
  const end = () => canceled(context, processor, payment);
  const found = await resolveOutcome(callAgain, () => trace.step('look_up', lookUp), end);
  const ended = isConclusive(found) ? await closeDecline(context, processor, payment, found) : found;
  if (isConclusive(ended)) await settleAs(ended);
  else if (isHopeless || (isLate && ended.kind === 'absent')) await markForReview(context, payment.id);
  else await settleAs({ kind: 'unknown', detail: detailOf(ended) });
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
export function isWanted({ wantedUntil, cancelRequestedAt }: Payment, now: number): boolean {
  return cancelRequestedAt === undefined && now < wantedUntil;
}

/**
 * Cancels a charge at the processor, or returns its outcome. Once the processor may have forgotten the key, a cancellation
 * cannot block it: then the charge is only looked up.
 */
export async function canceled(
  context: PaymentContext,
  processor: Processor,
  payment: Payment,
): Promise<Settlement> {
  const { processorKey, currency, cancelRequestedAt } = payment;
  const sought = soughtOf(context, processor, payment);
  if (!ageOf(payment.createdAt, context.now(), processor).isKeyRemembered) {
    const found = await processor.findCharge(sought).catch(unknownOf);
    if (isConclusive(found)) return closeDecline(context, processor, payment, found);
    return { kind: 'unknown', detail: detailOf(found) };
  }
  const silentMs = context.now() - sought.requestedUntil;
  const outcome = await processor
    .cancelCharge({ ...sought, processorKey, currency, silentMs })
    .catch(unknownOf);
  if (outcome.kind !== 'canceled') return outcome;
  return { kind: 'canceled', declineCode: cancelRequestedAt === undefined ? 'expired' : 'canceled' };
}

async function settle(
  context: SettleChargeContext,
  payment: Payment,
  finding: Finding,
  trace: Trace,
): Promise<Payment> {
  const settled = await trace.step('settle', () => settleCharge(context, payment.id, finding, payment));
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
  const { id: paymentId, processorKey, amount, currency, returnUrl } = payment;
  return processor.charge({
    paymentId,
    processorKey,
    amount,
    currency,
    ...sentDetails(context, payment),
    ...recordedRequest(payment),
    token,
    tokenKey: tokenKey(payment, token),
    ...(returnUrl === undefined ? {} : { returnUrl }),
    timeoutMs: processorCallMsMax,
    isRecovery,
  });
}

function recordedRequest({ isRequestRecorded, route, keyEntry }: Payment): Pick<ChargeRequest, 'request'> {
  return isRequestRecorded ? { request: { route, ...(keyEntry === undefined ? {} : { keyEntry }) } } : {};
}
