import type { Processor } from '../../processors/processor.ts';
import type { PaymentContext } from '../context.ts';
import { closeDeclineMsMax } from '../limits.ts';
import type { Payment } from '../payment.ts';
import { unknownOf } from '../resolve-outcome.ts';
import { isOpenDecline } from './conclusion.ts';
import type { Settlement } from './outcome.ts';
import { soughtOf } from './sought.ts';

/**
 * A decline whose attempt can still succeed counts only once the processor has canceled the attempt. So this cancels it.
 *
 * @returns any other outcome unchanged; otherwise `canceled` with the decline, `succeeded` if the buyer was faster, or `unknown`
 */
export async function closeDecline(
  context: Pick<PaymentContext, 'now'>,
  processor: Processor,
  payment: Payment,
  outcome: Settlement,
): Promise<Settlement> {
  if (!isOpenDecline(payment, outcome)) return outcome;
  const { openAttemptId: attemptId, ...declined } = outcome;
  const { processorKey, currency } = payment;
  const sought = { ...soughtOf(context, processor, payment), attemptId, timeoutMs: closeDeclineMsMax };
  const silentMs = context.now() - sought.requestedUntil;
  const ended = await processor
    .cancelCharge({ ...sought, processorKey, currency, silentMs, isUrgent: true })
    .catch(unknownOf);
  if (ended.kind !== 'canceled' && ended.kind !== 'declined') return ended;
  return { kind: 'canceled', declineCode: declined.declineCode, declined };
}
