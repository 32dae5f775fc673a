import type { Processor, SoughtCharge } from '../../processors/processor.ts';
import type { PaymentContext } from '../context.ts';
import { closeDeclineMsMax, lookUpMsMax, processorCallMsMax } from '../limits.ts';
import type { Payment } from '../payment.ts';
import { describeOutcome, isConclusive, measureAge, unknownAfter } from '../resolve-outcome.ts';
import { isOpenDecline, type Outcome } from './outcome.ts';

/** The calls to a processor that request no charge: look it up, cancel it. */

type Clock = Pick<PaymentContext, 'now'>;

/** What the processor needs to find the charge of a payment. */
export function chargeLookup({ now }: Clock, processor: Processor, payment: Payment): SoughtCharge {
  const { authentication } = payment;
  const requestedFrom = Date.parse(payment.createdAt);
  return {
    paymentId: payment.id,
    requestedFrom,
    requestedUntil:
      Math.max(requestedFrom, Math.min(now(), lastRequestAt(processor, payment))) + processorCallMsMax,
    ...(authentication && { attemptId: authentication.attemptId }),
    timeoutMs: lookUpMsMax,
  };
}

/**
 * The time of the last possible request of a charge, in milliseconds since 1970. No charge is requested after
 * `retryUntil`, after its cancellation, or after the processor may have forgotten its key.
 */
export function lastRequestAt(
  { keyLifeMs }: Pick<Processor, 'keyLifeMs'>,
  { createdAt, cancelRequestedAt, retryUntil }: Payment,
): number {
  const requestedFrom = Date.parse(createdAt);
  const canceledAt =
    cancelRequestedAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(cancelRequestedAt);
  return Math.max(requestedFrom, Math.min(retryUntil, canceledAt, requestedFrom + keyLifeMs));
}

/** Asks the processor to cancel the charge. @param urgent set while the buyer waits for the response to a decline */
function cancel(
  { now }: Clock,
  processor: Processor,
  payment: Payment,
  urgent: { readonly attemptId?: string; readonly timeoutMs?: number; readonly isUrgent?: boolean } = {},
) {
  const { processorKey, currency } = payment;
  const lookup = chargeLookup({ now }, processor, payment);
  const silentMs = now() - lookup.requestedUntil;
  return processor
    .cancelCharge({ ...lookup, processorKey, currency, silentMs, ...urgent })
    .catch(unknownAfter);
}

/**
 * Cancels the attempt of a decline if it can still succeed. Such a decline counts only once the processor has canceled
 * the attempt.
 *
 * @returns `canceled` with the decline, `succeeded` if the buyer was faster, or `unknown`; any other outcome unchanged
 */
export async function closeDecline(
  clock: Clock,
  processor: Processor,
  payment: Payment,
  outcome: Outcome,
): Promise<Outcome> {
  if (!isOpenDecline(payment, outcome)) return outcome;
  const { openAttemptId: attemptId, ...declined } = outcome;
  const urgent = { attemptId, timeoutMs: closeDeclineMsMax, isUrgent: true };
  const ended = await cancel(clock, processor, payment, urgent);
  if (ended.kind !== 'canceled' && ended.kind !== 'declined') return ended;
  return { kind: 'canceled', declineCode: declined.declineCode, declined };
}

/**
 * Cancels a charge at the processor, or returns its outcome. Once the processor may have forgotten the key, a
 * cancellation cannot block a late request, so the charge is only looked up.
 */
export async function cancelCharge(clock: Clock, processor: Processor, payment: Payment): Promise<Outcome> {
  if (!measureAge(payment.createdAt, clock.now(), processor).isKeyRemembered) {
    const found = await processor.findCharge(chargeLookup(clock, processor, payment)).catch(unknownAfter);
    if (isConclusive(found)) return closeDecline(clock, processor, payment, found);
    return { kind: 'unknown', detail: describeOutcome(found) };
  }
  const outcome = await cancel(clock, processor, payment);
  if (outcome.kind !== 'canceled') return outcome;
  return { kind: 'canceled', declineCode: payment.cancelRequestedAt === undefined ? 'expired' : 'canceled' };
}

/**
 * Looks up an attempt that waits for its cardholder. Cancels it if it failed, if its time is over, or if the shop has
 * canceled the payment.
 *
 * @returns `succeeded`, `canceled`, or an outcome that does not end the charge
 */
export async function endAuthentication(
  clock: Clock,
  processor: Processor,
  payment: Payment,
): Promise<Outcome> {
  const { cancelRequestedAt, authentication } = payment;
  let declineCode = cancelRequestedAt === undefined ? 'authentication_timeout' : 'canceled';
  if (cancelRequestedAt === undefined && clock.now() < (authentication?.until ?? 0)) {
    const found = await processor.findCharge(chargeLookup(clock, processor, payment)).catch(unknownAfter);
    if (found.kind === 'succeeded' || found.kind === 'requires_action') return found;
    if (found.kind !== 'declined') return { kind: 'unknown', detail: describeOutcome(found) };
    ({ declineCode } = found);
  }
  const ended = await cancel(clock, processor, payment);
  return ended.kind === 'canceled' || ended.kind === 'declined' ? { kind: 'canceled', declineCode } : ended;
}
