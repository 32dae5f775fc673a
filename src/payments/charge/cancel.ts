import { ServiceError } from '../../errors.ts';
import type { Write } from '../../storage/engine.ts';
import { hasEnded } from '../charge-state.ts';
import { findProcessor, type PaymentContext } from '../context.ts';
import type { Payment } from '../payment.ts';
import { changePayment } from '../payment-store.ts';
import { unknownOf } from '../resolve-outcome.ts';
import { resolveAuthentication } from './authenticate.ts';
import { cancelCharge } from './look-up.ts';
import { settleCharge } from './settle.ts';

/**
 * Cancels a charge with an unknown outcome, or one that waits for its cardholder, at the processor first. Once the cancellation is committed, no process requests
 * the charge again. If the processor does not reply, recovery finishes the cancellation.
 *
 * @returns the payment afterwards: canceled (`declined`), `succeeded` if the charge had been made, or still in doubt.
 *   A payment that ended before is returned unchanged, unless it succeeded.
 *
 * @param audit the audit entry to commit with it, for an administrative act (`audited`)
 *
 * Throws `processor_not_configured`, `unavailable`, and `invalid_request` for a payment that succeeded: it can be refunded.
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
  const outcome = await cancelCharge(context, processor, payment).catch(unknownOf);
  if (outcome.kind === 'unknown') return payment;
  return settleCharge(context, payment.id, { outcome, basis: 'proof' });
}

function alreadySucceeded(): ServiceError {
  return new ServiceError('invalid_request', {
    message: 'This payment has succeeded: it cannot be canceled, but it can be refunded.',
  });
}
