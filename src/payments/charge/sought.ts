import type { Processor, SoughtCharge } from '../../processors/processor.ts';
import type { PaymentContext } from '../context.ts';
import { lookUpMsMax, processorCallMsMax } from '../limits.ts';
import type { Payment } from '../payment.ts';

/** No charge is requested after its end or its cancellation, nor after the processor may have forgotten its key. */
export function soughtOf(
  { now }: Pick<PaymentContext, 'now'>,
  { keyLifeMs }: Processor,
  payment: Payment,
): SoughtCharge {
  const { createdAt, cancelRequestedAt, wantedUntil, authentication } = payment;
  const requestedFrom = Date.parse(createdAt);
  const canceledAt =
    cancelRequestedAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(cancelRequestedAt);
  const lastCallAt = Math.min(now(), wantedUntil, canceledAt, requestedFrom + keyLifeMs);
  return {
    paymentId: payment.id,
    requestedFrom,
    requestedUntil: Math.max(requestedFrom, lastCallAt) + processorCallMsMax,
    ...(authentication === undefined ? {} : { attemptId: authentication.attemptId }),
    timeoutMs: lookUpMsMax,
  };
}
