import type { Processor } from '../../processors/processor.ts';
import { findProcessor, type PaymentContext } from '../context.ts';
import type { Payment } from '../payment.ts';
import { ageOf, detailOf, unknownOf } from '../resolve-outcome.ts';
import type { Settlement } from './outcome.ts';
import { markForReview, settleCharge } from './settle.ts';
import { soughtOf } from './sought.ts';

/**
 * Finds out what became of a charge that waits for the cardholder. A success settles it. Every other end is final only once
 * the processor has canceled the attempt: until then the cardholder's page could still confirm it, also with another card.
 * So a failed authentication, the deadline and the shop's cancellation cancel first and then decline.
 *
 * @param eventId the processor's event that is the reason for the look-up
 * @returns the payment afterwards, which may still wait
 */
export async function resolveAuthentication(
  context: PaymentContext,
  payment: Payment,
  eventId?: string,
): Promise<Payment> {
  const processor = findProcessor(context, payment.processor);
  const outcome = await endAuthentication(context, processor, payment);
  if (outcome.kind === 'unknown' && ageOf(payment.createdAt, context.now(), processor).isHopeless) {
    await markForReview(context, payment.id);
    return payment;
  }
  const event = eventId === undefined ? {} : { eventId };
  return settleCharge(context, payment.id, { outcome, basis: 'proof', ...event }, payment);
}

/**
 * Looks an attempt up, and cancels it if it failed, is too late, or is not wanted.
 *
 * @returns `succeeded`, `canceled`, or what does not end the charge
 */
export async function endAuthentication(
  context: Pick<PaymentContext, 'now'>,
  processor: Processor,
  payment: Payment,
): Promise<Settlement> {
  const { processorKey, currency, cancelRequestedAt, authentication } = payment;
  const sought = soughtOf(context, processor, payment);
  let declineCode = cancelRequestedAt === undefined ? 'authentication_timeout' : 'canceled';
  if (cancelRequestedAt === undefined && context.now() < (authentication?.until ?? 0)) {
    const found = await processor.findCharge(sought).catch(unknownOf);
    if (found.kind === 'succeeded' || found.kind === 'requires_action') return found;
    if (found.kind !== 'declined') return { kind: 'unknown', detail: detailOf(found) };
    ({ declineCode } = found);
  }
  const silentMs = context.now() - sought.requestedUntil;
  const ended = await processor
    .cancelCharge({ ...sought, processorKey, currency, silentMs })
    .catch(unknownOf);
  return ended.kind === 'canceled' || ended.kind === 'declined' ? { kind: 'canceled', declineCode } : ended;
}
