import { ServiceError } from '../errors.ts';
import type { Processor } from '../processors/processor.ts';
import type { Write } from '../storage/engine.ts';
import { resolveAuthentication } from './charge/authenticate.ts';
import { cancelCharge, chargeLookup, closeDecline, endAuthentication } from './charge/look-up.ts';
import type { Outcome } from './charge/outcome.ts';
import { settleCharge } from './charge/settle.ts';
import { hasEnded } from './charge-state.ts';
import { findProcessor, type PaymentContext } from './context.ts';
import { lookUpMsMax } from './limits.ts';
import type { Payment } from './payment.ts';
import { changePayment } from './payment-store.ts';
import { unknownAfter } from './resolve-outcome.ts';

/** An operator's decision on a charge that needs review. */
export type Resolution =
  | { readonly state: 'succeeded'; readonly chargeId: string }
  | { readonly state: 'declined' };

/**
 * Ends a charge by an operator's decision, which must agree with the processor's records: for `succeeded`, a paid charge
 * with the payment's id; for `declined`, no charge that moved money.
 *
 * Throws `invalid_request` if it does not agree, and `unavailable` if the records cannot be read or belong to another
 * account.
 */
export async function resolvePayment(
  context: PaymentContext,
  payment: Payment,
  resolution: Resolution,
  audit: Write,
): Promise<Payment> {
  if (payment.state === 'succeeded') throw disagrees('This payment has succeeded already.');
  if (payment.state === 'declined' && resolution.state === 'declined')
    throw disagrees('This payment has been declined already.');
  if (payment.state !== 'needs_review' && resolution.state === 'declined')
    throw disagrees('The service is still finding out the outcome of this payment: cancel it instead.');
  await context.accounts.checkSame(payment, findProcessor(context, payment.processor));
  const outcome = await checked(context, payment, resolution);
  return settleCharge(context, payment.id, { outcome, basis: 'proof', audit });
}

async function checked(context: PaymentContext, payment: Payment, resolution: Resolution): Promise<Outcome> {
  const processor = findProcessor(context, payment.processor);
  if (resolution.state === 'succeeded') {
    const { chargeId } = resolution;
    const owner = await processor.findOwner(chargeId, lookUpMsMax);
    if (owner.kind === 'unknown') throw unreadable(owner.detail);
    if (owner.paymentId !== payment.id)
      throw disagrees(`The processor has no charge ${chargeId} of this payment.`);
    if (!owner.isPaid) throw disagrees(`The charge ${chargeId} of this payment has moved no money.`);
    return { kind: 'succeeded', chargeId };
  }
  const found = await (payment.authentication === undefined
    ? lookUp(context, processor, payment)
    : endAuthentication(context, processor, payment));
  if (found.kind === 'succeeded')
    throw disagrees(`The processor has the charge: resolve it with --succeeded ${found.chargeId}.`);
  if (found.kind === 'declined' || found.kind === 'canceled') return found;
  if (found.kind === 'requires_action')
    throw disagrees('The cardholder may still authenticate the charge: cancel it instead.');
  if (found.kind !== 'absent') throw unreadable(found.detail);
  return { kind: 'canceled', declineCode: 'canceled' };
}

async function lookUp(context: PaymentContext, processor: Processor, payment: Payment) {
  const found = await processor.findCharge(chargeLookup(context, processor, payment));
  return found.kind === 'absent' ? found : closeDecline(context, processor, payment, found);
}

function disagrees(message: string): ServiceError {
  return new ServiceError('invalid_request', { message });
}

function unreadable(detail: string): ServiceError {
  const message = `The processor’s records cannot be read now (${detail}); nothing was changed.`;
  return new ServiceError('unavailable', { message, detail });
}

/**
 * Cancels a charge whose outcome is unknown, or that waits for its cardholder. Once the cancellation is committed, no
 * process requests the charge again. Then the processor cancels it. If the processor does not reply, recovery finishes
 * the cancellation.
 *
 * @returns the payment afterwards: canceled (`declined`), `succeeded` if the charge had been made, or still in doubt. A
 *   payment that was declined or needs review is returned unchanged.
 *
 * @param audit the audit entry to commit with it, for an administrative act (`audited`)
 *
 * Throws `processor_not_configured`, `unavailable`, and `invalid_request` for a payment that succeeded and so can only
 * be refunded.
 */
export async function cancelPayment(
  context: PaymentContext,
  found: Payment,
  audit?: Write,
): Promise<Payment> {
  const processor = findProcessor(context, found.processor);
  await context.accounts.checkSame(found, processor);
  const { payment } = await changePayment(context, found.id, (before) => {
    if (before.state === 'succeeded') throw alreadySucceeded();
    if (hasEnded(before.state) || before.cancelRequestedAt !== undefined) return undefined;
    const cancelRequestedAt = new Date(context.now()).toISOString();
    const writes = audit === undefined ? [] : [audit];
    return { payment: { ...before, cancelRequestedAt }, writes };
  });
  if (hasEnded(payment.state)) return payment;
  if (payment.state === 'requires_action') return resolveAuthentication(context, payment);
  const outcome = await cancelCharge(context, processor, payment).catch(unknownAfter);
  if (outcome.kind === 'unknown') return payment;
  return settleCharge(context, payment.id, { outcome, basis: 'proof' });
}

function alreadySucceeded(): ServiceError {
  return new ServiceError('invalid_request', {
    message: 'This payment has succeeded: it cannot be canceled, but it can be refunded.',
  });
}
