import { type FieldsBesideError, failure, success } from '../../envelope.ts';
import { ServiceError } from '../../errors.ts';
import type { Payment } from '../payment.ts';
import type { StoredResponse } from '../stored-response.ts';
import type { Settlement } from './outcome.ts';

/** The documented field of the payment endpoint stays truthful beside an error. */
export const paymentFieldsBesideError: FieldsBesideError = (message) => ({ message: { message } });

export function successResponse(chargeId: string): StoredResponse {
  const body = { message: { message: 'Payment successful!', charge_id: chargeId } };
  return { status: 200, text: JSON.stringify(success(body)) };
}

export function errorResponse(error: ServiceError, requestId: string): StoredResponse {
  return { status: error.status, text: JSON.stringify(failure(error, requestId, paymentFieldsBesideError)) };
}

/** The answer that an outcome has, for the request that made the payment. */
export function responseOf(outcome: Settlement, payment: Payment): StoredResponse {
  return outcome.kind === 'succeeded'
    ? successResponse(outcome.chargeId)
    : errorResponse(errorOf(outcome, payment), payment.requestId);
}

function errorOf(outcome: Exclude<Settlement, { kind: 'succeeded' }>, payment: Payment): ServiceError {
  switch (outcome.kind) {
    case 'declined':
      return new ServiceError(outcome.authenticationRequired ? 'authentication_required' : 'card_declined', {
        declineCode: outcome.declineCode,
        param: 'token',
      });
    case 'refused':
      return new ServiceError('invalid_request', { param: outcome.param, message: outcome.message });
    case 'not_attempted':
      return new ServiceError('processor_error');
    case 'canceled':
      return new ServiceError('card_declined', {
        declineCode: outcome.declineCode,
        message: canceledMessages[outcome.declineCode],
      });
    case 'unknown':
      return outcomeUnknown(payment);
  }
}

const canceledMessages = {
  canceled: 'The charge was canceled before it was made; nothing was charged.',
  expired:
    'The charge could not be made in time and was canceled; nothing was charged. To charge, send a new request.',
};

/**
 * Without a key, or a token that is one, the same request again would be another payment: then the caller must not
 * be asked to send it.
 */
export function outcomeUnknown({ keyEntry, wantedUntil, cancelRequestedAt }: Payment): ServiceError {
  const until = new Date(wantedUntil).toISOString();
  const end =
    cancelRequestedAt === undefined
      ? `The charge may still be made until ${until}; then it is canceled.`
      : 'It is being canceled, unless it has been made.';
  const how =
    keyEntry === undefined
      ? 'Ask at the Location; this request had no Idempotency-Key, so that sending it again may charge again.'
      : 'Ask at the Location, or send the same request again.';
  return new ServiceError('payment_outcome_unknown', {
    retryable: keyEntry !== undefined,
    message: `The payment processor has not reported what became of this charge. It may have succeeded: the service is finding out. ${how} ${end}`,
  });
}

const reviewMessage =
  'It could not be found out what became of this charge. It may have succeeded: look it up at the payment processor ' +
  'by its payment id before you charge again.';

export function reviewResponse({ requestId }: Payment, message = reviewMessage): StoredResponse {
  const error = new ServiceError('payment_outcome_unknown', { retryable: false, message });
  return errorResponse(error, requestId);
}

export interface PaymentResponse extends StoredResponse {
  readonly paymentId: string;
  /** Whether this is the answer to an earlier request with the same key. */
  readonly replayed: boolean;
  readonly retryAfterSeconds?: number;
}

export const unknownRetryAfterSeconds = 2;

/** The answer that a payment has now, be it that nobody knows. */
export function currentResponse(
  payment: Payment,
  { replayed }: { readonly replayed: boolean },
): PaymentResponse {
  const known = { paymentId: payment.id, replayed };
  if (payment.answer !== undefined) return { ...payment.answer, ...known };
  const answer = errorResponse(outcomeUnknown(payment), payment.requestId);
  return { ...answer, ...known, retryAfterSeconds: unknownRetryAfterSeconds };
}

/** Declined, or a token that its processor does not know: whoever tests cards or tokens is answered so. */
export function isOfBadCard({ status, text }: StoredResponse): boolean {
  return status === 402 || (status === 400 && text.includes('"param":"token"'));
}
