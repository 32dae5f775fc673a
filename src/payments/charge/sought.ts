import type { Processor, SoughtCharge } from '../../processors/processor.ts';
import type { PaymentContext } from '../context.ts';
import { lookUpMsMax, processorCallMsMax } from '../limits.ts';
import type { Payment } from '../payment.ts';

export function soughtOf(
  { now }: Pick<PaymentContext, 'now'>,
  processor: Processor,
  payment: Payment,
): SoughtCharge {
  const { authentication } = payment;
  const requestedFrom = Date.parse(payment.createdAt);
  return {
    paymentId: payment.id,
    requestedFrom,
    requestedUntil:
      Math.max(requestedFrom, Math.min(now(), lastRequestAt(processor, payment))) + processorCallMsMax,
    ...(authentication === undefined ? {} : { attemptId: authentication.attemptId }),
    timeoutMs: lookUpMsMax,
  };
}

/**
 * No charge is requested after its end or its cancellation, nor after the processor may have forgotten its key. In milliseconds
 * since 1970.
 */
export function lastRequestAt(
  { keyLifeMs }: Pick<Processor, 'keyLifeMs'>,
  { createdAt, cancelRequestedAt, wantedUntil }: Payment,
): number {
  const requestedFrom = Date.parse(createdAt);
  const canceledAt =
    cancelRequestedAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(cancelRequestedAt);
  return Math.max(requestedFrom, Math.min(wantedUntil, canceledAt, requestedFrom + keyLifeMs));
}
