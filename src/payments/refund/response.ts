import { failure, type StoredResponse, success } from '../../envelope.ts';
import { ServiceError } from '../../errors.ts';
import type { RefundOutcome } from '../../processors/processor.ts';
import { unknownRetryAfterSeconds } from '../limits.ts';
import type { Payment } from '../payment.ts';
import type { Refund, RequestedRefund } from '../refund-state.ts';

export interface RefundResponse extends StoredResponse {
  readonly refundId: string;
  /** Whether this is the response to an earlier request with the same key. */
  readonly replayed: boolean;
  readonly retryAfterSeconds?: number;
}

/** The response to the request that made the refund; undefined while the outcome is unknown. */
export function responseToRefund(
  outcome: RefundOutcome,
  payment: Payment,
  refund: Refund,
  { requestId }: RequestedRefund,
): StoredResponse | undefined {
  switch (outcome.kind) {
    case 'succeeded':
    case 'pending':
      return { status: 200, text: JSON.stringify(success(publicRefund(payment, refund))) };
    case 'failed':
      return errorResponse(
        new ServiceError('processor_error', { retryable: false, message: failedMessage }),
        requestId,
      );
    case 'rejected':
      return errorResponse(
        new ServiceError('invalid_request', {
          message: outcome.isDisputed ? disputedMessage : outcome.message,
        }),
        requestId,
      );
    case 'not_attempted':
      return errorResponse(new ServiceError('processor_error', { message: notAttemptedMessage }), requestId);
    case 'unknown':
      return undefined;
  }
}

export const disputedMessage =
  'This charge is disputed: a chargeback has taken its money back, and nothing was refunded. Respond to the dispute at the payment ' +
  'processor; the charge can be refunded again only if the dispute is won.';
const failedMessage = 'The refund failed: the bank did not accept the money.';
const notAttemptedMessage = 'The payment processor could not make this refund; nothing was refunded.';
const unknownMessage =
  'The payment processor has not reported the outcome of this refund. It may have succeeded: the service is finding ' +
  'out. Check the Location.';
const reviewMessage =
  'The outcome of this refund could not be determined. It may have succeeded: look it up at the payment processor ' +
  'before you refund again.';

/** The refund's current response: the stored one, or that the outcome is unknown. */
export function currentRefundResponse(
  { id: refundId, requested, state }: Refund,
  { replayed }: { readonly replayed: boolean },
): RefundResponse {
  const known = { refundId, replayed };
  if (requested?.response !== undefined) return { ...requested.response, ...known };
  const isReviewed = state === 'needs_review';
  // Without a key a repeated request would be another refund.
  const retryable = !isReviewed && requested?.keyDigest !== undefined;
  const message = isReviewed ? reviewMessage : unknownMessage;
  const error = new ServiceError('payment_outcome_unknown', { retryable, message });
  const unknown = errorResponse(error, requested?.requestId ?? '');
  return { ...unknown, ...known, ...(isReviewed ? {} : { retryAfterSeconds: unknownRetryAfterSeconds }) };
}

export type PublicRefund = ReturnType<typeof publicRefund>;

/** The public fields of a refund. */
export function publicRefund(payment: Payment, { id, state, amount, createdAt, processorRefundId }: Refund) {
  return {
    refund_id: id,
    payment_id: payment.id,
    status: state,
    amount,
    currency: payment.currency,
    processor_refund_id: processorRefundId ?? null,
    created_at: createdAt,
  };
}

function errorResponse(error: ServiceError, requestId: string): StoredResponse {
  return { status: error.status, text: JSON.stringify(failure(error, requestId)) };
}
