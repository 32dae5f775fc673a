import { ServiceError } from '../../errors.ts';
import type { Write } from '../../storage/engine.ts';
import { hasEnded } from '../charge-state.ts';
import { findProcessor, type PaymentContext } from '../context.ts';
import type { Payment } from '../payment.ts';
import { changePayment } from '../payment-store.ts';
import { unknownOf } from '../resolve-outcome.ts';
import { canceled } from './execute.ts';
import { settleCharge } from './settle.ts';

/**
 * Ends a charge whose outcome is not known yet, at the processor first. From the commit of the request on nobody asks for
 * it again; if the processor does not respond, recovery finishes the cancellation.
 *
 * @returns the payment as it is then: canceled (`declined`), `succeeded` where the charge had been made, or still in doubt.
 *   One that had ended before is returned as it is, unless it has succeeded.
 *
 * @param audit what is to be written with it, where this is an administrative act (`audited`)
 *
 * Throws `processor_not_configured`, `unavailable`, and `invalid_request` for a payment that has succeeded: it can be refunded.
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
  const outcome = await canceled(context, processor, payment).catch(unknownOf);
  if (outcome.kind === 'unknown') return payment;
  return settleCharge(context, payment.id, { outcome, basis: 'proof' });
}

function alreadySucceeded(): ServiceError {
  return new ServiceError('invalid_request', {
    message: 'This payment has succeeded: it cannot be canceled, but it can be refunded.',
  });
}
