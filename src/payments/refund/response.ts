import { failure, success } from '../../envelope.ts';
import { ServiceError } from '../../errors.ts';
import type { RefundOutcome } from '../../processors/processor.ts';
import { unknownRetryAfterSeconds } from '../charge/response.ts';
import type { Payment } from '../payment.ts';
import type { AskedRefund, Refund } from '../refund-state.ts';
import type { StoredResponse } from '../stored-response.ts';

export interface RefundResponse extends StoredResponse {
  readonly refundId: string;
  /** Whether this is the answer to an earlier request with the same key. */
  readonly replayed: boolean;
  readonly retryAfterSeconds?: number;
}

/** The answer that an outcome has, for the request that asked for the refund; undefined while there is none. */
export function refundResponseOf(
  outcome: RefundOutcome,
  payment: Payment,
  refund: Refund,
  { requestId }: AskedRefund,
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
    case 'refused':
      return errorResponse(new ServiceError('invalid_request', { message: outcome.message }), requestId);
    case 'not_attempted':
      return errorResponse(new ServiceError('processor_error', { message: notTakenMessage }), requestId);
    case 'unknown':
      return undefined;
  }
}

const failedMessage = 'The refund came to nothing: the bank did not take the money.';
const notTakenMessage = 'The payment processor could not take this refund; nothing was refunded.';
const unknownMessage =
  'The payment processor has not told what became of this refund. It may have succeeded: the service is finding out. ' +
  'Ask at the Location.';
const reviewMessage =
  'It could not be found out what became of this refund. It may have succeeded: look it up at the payment processor ' +
  'before you refund again.';

/** The answer that a refund has now, be it that nobody knows. */
export function currentRefundResponse(
  { id: refundId, asked, state }: Refund,
  { replayed }: { readonly replayed: boolean },
): RefundResponse {
  const known = { refundId, replayed };
  if (asked?.answer !== undefined) return { ...asked.answer, ...known };
  const isReviewed = state === 'needs_review';
  // Without a key the same request again would be another refund.
  const retryable = !isReviewed && asked?.keyDigest !== undefined;
  const message = isReviewed ? reviewMessage : unknownMessage;
  const error = new ServiceError('payment_outcome_unknown', { retryable, message });
  const answer = errorResponse(error, asked?.requestId ?? '');
  return { ...answer, ...known, ...(isReviewed ? {} : { retryAfterSeconds: unknownRetryAfterSeconds }) };
}

/** A refund as anyone may see it. */
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
