import { defined } from './defined.ts';
import {
  type ErrorCode,
  type ErrorType,
  type ExpectedPrice,
  errorKinds,
  type PublicNextAction,
  type ServiceError,
} from './errors.ts';

/** The shape of every response body. The HTTP status line carries the same number. */
export interface Envelope<Body> {
  readonly statusCode: number;
  readonly body: Body;
}

/** `body.error` of every error response. */
export interface PublicError {
  readonly type: ErrorType;
  readonly code: ErrorCode;
  readonly message: string;
  readonly param?: string;
  readonly decline_code?: string;
  readonly next_action?: PublicNextAction;
  /** Of `amount_mismatch`: the price, in the smallest unit of the currency. */
  readonly expected?: ExpectedPrice;
  readonly retryable: boolean;
  readonly request_id: string;
}

export function publicError(error: ServiceError, requestId: string): PublicError {
  const { type, retryable } = errorKinds[error.code];
  const { param, declineCode, nextAction, expected } = error.details;
  return {
    type,
    code: error.code,
    message: error.message,
    ...defined({ param, decline_code: declineCode, next_action: nextAction, expected }),
    retryable: error.details.retryable ?? retryable,
    request_id: requestId,
  };
}

/** RFC 8259: JSON has no charset parameter. */
export const jsonContentType = 'application/json';

export function success<Body>(body: Body): Envelope<Body> {
  return { statusCode: 200, body };
}

/**
 * The fields of an error response next to `error`, such as `{ msg, complete: false }` of create. A client that reads only the fields
 * of a success does not take the failure for one.
 */
export type LegacyErrorFields = (message: string, error: ServiceError) => Readonly<Record<string, unknown>>;

export function failure(
  error: ServiceError,
  requestId: string,
  legacyFields: LegacyErrorFields = () => ({}),
): Envelope<{ error: PublicError }> {
  return {
    statusCode: error.status,
    body: { ...legacyFields(error.message, error), error: publicError(error, requestId) },
  };
}

/** The exact response to a request. */
export interface StoredResponse {
  readonly status: number;
  readonly text: string;
}
