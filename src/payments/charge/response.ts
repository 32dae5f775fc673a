import { failure, type LegacyErrorFields, type StoredResponse, success } from '../../envelope.ts';
import { invalidRequest, ServiceError } from '../../errors.ts';
import type { NextAction } from '../../processors/processor.ts';
import type { PaymentContext } from '../context.ts';
import { unknownRetryAfterSeconds } from '../limits.ts';
import type { Payment } from '../payment.ts';
import { deriveClientSecret, openNextAction } from '../public-payment.ts';
import type { Outcome } from './outcome.ts';

/** Errors of the payment endpoint also have its documented `message` field. */
export const chargeErrorFields: LegacyErrorFields = (message) => ({ message: { message } });

export function successResponse(chargeId: string): StoredResponse {
  const body = { message: { message: 'Payment successful!', charge_id: chargeId } };
  return { status: 200, text: JSON.stringify(success(body)) };
}

function errorResponse(error: ServiceError, requestId: string): StoredResponse {
  return { status: error.status, text: JSON.stringify(failure(error, requestId, chargeErrorFields)) };
}

/** The response to the request that made the payment. */
export function responseTo(outcome: Outcome, payment: Payment): StoredResponse {
  return outcome.kind === 'succeeded'
    ? successResponse(outcome.chargeId)
    : errorResponse(errorFor(outcome, payment), payment.requestId);
}

function errorFor(outcome: Exclude<Outcome, { kind: 'succeeded' }>, payment: Payment): ServiceError {
  switch (outcome.kind) {
    case 'declined':
      return new ServiceError(outcome.authenticationRequired ? 'authentication_required' : 'card_declined', {
        declineCode: outcome.declineCode,
        param: 'token',
      });
    case 'rejected':
      return invalidRequest(outcome.param, outcome.message);
    case 'not_attempted':
      return new ServiceError('processor_error');
    case 'canceled':
      if (outcome.declined !== undefined) return errorFor(outcome.declined, payment);
      return new ServiceError('card_declined', {
        declineCode: outcome.declineCode,
        message:
          canceledMessages[outcome.declineCode] ??
          'The cardholder was not authenticated; nothing was charged.',
      });
    case 'requires_action':
      return actionRequired(outcome.action);
    case 'unknown':
      return outcomeUnknown(payment);
  }
}

function actionRequired(nextAction: NextAction): ServiceError {
  return new ServiceError('authentication_required', {
    message:
      'The card issuer requires the cardholder to authenticate this payment. Send the cardholder to next_action.url, and ' +
      'retrieve the payment when they return.',
    param: 'token',
    nextAction,
  });
}

const canceledMessages: Readonly<Record<string, string>> = {
  canceled: 'The charge was canceled before it was made; nothing was charged.',
  expired:
    'The charge could not be made in time and was canceled; nothing was charged. To charge, send a new request.',
  authentication_timeout:
    'The cardholder did not authenticate the payment in time; nothing was charged. To charge, send a new request.',
};

/**
 * The message suggests a repeated request only if it has a key or a single-use token. Without them, a repeated request
 * would be another payment.
 */
function outcomeUnknown({ keyEntry, retryUntil, cancelRequestedAt }: Payment): ServiceError {
  const until = new Date(retryUntil).toISOString();
  const end =
    cancelRequestedAt === undefined
      ? `The charge may still be made until ${until}; then it is canceled.`
      : 'It is being canceled, unless it has been made.';
  const how =
    keyEntry === undefined
      ? 'Check the Location; this request had no Idempotency-Key, so sending it again may charge again.'
      : 'Check the Location, or send the same request again.';
  return new ServiceError('payment_outcome_unknown', {
    retryable: keyEntry !== undefined,
    message:
      'The payment processor has not reported the outcome of this charge. It may have succeeded: the service is ' +
      `finding out. ${how} ${end}`,
  });
}

const reviewMessage =
  'The outcome of this charge could not be determined. It may have succeeded: look it up at the payment processor ' +
  'by its payment id before you charge again.';

export function reviewResponse({ requestId }: Payment, message = reviewMessage): StoredResponse {
  const error = new ServiceError('payment_outcome_unknown', { retryable: false, message });
  return errorResponse(error, requestId);
}

export interface PaymentResponse extends StoredResponse {
  readonly paymentId: string;
  /** Whether this is the response to an earlier request with the same key. */
  readonly replayed: boolean;
  readonly retryAfterSeconds?: number;
  /** Whether this is the first response to a declined or invalid card, as card testing causes. */
  readonly countsAsCardTest: boolean;
  /** Derives the secret that reads this payment. */
  readonly clientSecret: () => string;
}

/** The payment's current response: the stored one, the cardholder's next action, or that the outcome is unknown. */
export function currentResponse(
  context: Pick<PaymentContext, 'sealer'>,
  payment: Payment,
  { replayed }: { readonly replayed: boolean },
): PaymentResponse {
  const known = {
    paymentId: payment.id,
    replayed,
    countsAsCardTest: false,
    clientSecret: () => deriveClientSecret(payment),
  };
  if (payment.response !== undefined) return { ...payment.response, ...known };
  const action = openNextAction(context, payment);
  if (action !== undefined) return { ...errorResponse(actionRequired(action), payment.requestId), ...known };
  const unknown = errorResponse(outcomeUnknown(payment), payment.requestId);
  return { ...unknown, ...known, retryAfterSeconds: unknownRetryAfterSeconds };
}
