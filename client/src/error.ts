/** The codes of the service: the list in docs/errors.md. */
export type ServiceErrorCode =
  | 'malformed_json'
  | 'invalid_request'
  | 'amount_mismatch'
  | 'unauthenticated'
  | 'forbidden'
  | 'card_declined'
  | 'authentication_required'
  | 'route_not_found'
  | 'table_not_found'
  | 'item_not_found'
  | 'payment_not_found'
  | 'user_not_found'
  | 'session_not_found'
  | 'integration_not_found'
  | 'key_not_found'
  | 'processor_not_found'
  | 'provider_not_found'
  | 'method_not_allowed'
  | 'request_timeout'
  | 'body_too_large'
  | 'unsupported_media_type'
  | 'headers_too_large'
  | 'item_exists'
  | 'integration_exists'
  | 'key_exists'
  | 'rotation_unfinished'
  | 'last_admin_key'
  | 'idempotency_key_in_use'
  | 'precondition_failed'
  | 'idempotency_key_reused'
  | 'backup_running'
  | 'reconciliation_running'
  | 'rate_limited'
  | 'internal'
  | 'processor_error'
  | 'identity_provider_error'
  | 'unavailable'
  | 'overloaded'
  | 'processor_not_configured'
  | 'backups_not_configured'
  | 'payment_outcome_unknown'
  | 'reconcile_required'
  | 'storage_full';

/**
 * The codes of the client itself.
 *
 * - `connection_failed`: no connection could be made, so the request was not sent.
 * - `network_error`: the connection broke; the service may have executed the request.
 * - `timeout`, `aborted`: the client stopped waiting; the service may have executed the request.
 * - `invalid_response`: the response does not come from Counterfoil, such as an error page of a proxy.
 */
export type ClientErrorCode =
  | 'connection_failed'
  | 'network_error'
  | 'timeout'
  | 'aborted'
  | 'invalid_response';

export type ErrorCode = ServiceErrorCode | ClientErrorCode;
export type ErrorType = 'invalid_request' | 'access' | 'card' | 'conflict' | 'limit' | 'service' | 'client';

/** `body.error` of an error response. */
export interface ErrorBody {
  readonly type: ErrorType;
  readonly code: ErrorCode;
  readonly message: string;
  readonly param?: string;
  readonly decline_code?: string;
  readonly next_action?: { readonly type: 'redirect'; readonly url: string; readonly client_secret?: string };
  /** Only for `amount_mismatch`: the price, in the smallest unit of the currency. */
  readonly expected?: { readonly amount: number; readonly currency: string };
  readonly retryable: boolean;
  readonly request_id?: string;
}

class ErrorOfCounterfoil extends Error {
  static {
    Object.defineProperty(ErrorOfCounterfoil, 'name', { value: 'CounterfoilError' });
  }
  readonly code: ErrorCode;
  readonly type: ErrorType;
  /** The HTTP status, or 0 without a response. */
  readonly status: number;
  /** Whether the same request may succeed if it is sent again unchanged. */
  readonly retryable: boolean;
  /** The id under which the log of the service has the request. */
  readonly requestId: string | undefined;
  /** The field, header or path parameter at fault. */
  readonly param: string | undefined;
  /** Why the card was declined, in the processor's words. */
  readonly declineCode: string | undefined;
  readonly headers: Headers | undefined;
  /** `body.error` as the service sent it. */
  readonly body: ErrorBody;

  constructor(body: ErrorBody, response?: Pick<Response, 'status' | 'headers'>, cause?: unknown) {
    super(body.message, cause === undefined ? {} : { cause });
    this.name = 'CounterfoilError';
    this.body = body;
    this.code = body.code;
    this.type = body.type;
    this.retryable = body.retryable;
    this.param = body.param;
    this.declineCode = body.decline_code;
    this.status = response?.status ?? 0;
    this.headers = response?.headers;
    this.requestId = body.request_id ?? response?.headers.get('request-id') ?? undefined;
  }
}

type CardCode = 'card_declined' | 'authentication_required';

/** An error of any kind. Comparing `code` narrows the other fields. */
export type CounterfoilError = ErrorOfCounterfoil &
  (
    | { readonly code: CardCode; readonly type: 'card'; readonly declineCode: string }
    | { readonly code: ClientErrorCode; readonly type: 'client'; readonly status: 0 }
    | {
        readonly code: Exclude<ServiceErrorCode, CardCode>;
        readonly type: Exclude<ErrorType, 'card' | 'client'>;
        readonly declineCode: undefined;
      }
  );

export const CounterfoilError = ErrorOfCounterfoil as unknown as {
  new (body: ErrorBody, response?: Pick<Response, 'status' | 'headers'>, cause?: unknown): CounterfoilError;
  /** The default check: `instanceof` narrows to all kinds of the error, and away from all. */
  [Symbol.hasInstance](value: unknown): value is CounterfoilError;
};

const clientMessages: Readonly<Record<ClientErrorCode, string>> = {
  connection_failed: 'The service cannot be reached; nothing was sent.',
  network_error: 'The connection broke before the response was complete.',
  timeout: 'The response did not arrive in time.',
  aborted: 'The request was aborted.',
  invalid_response: 'The response is not one of Counterfoil.',
};

export function clientError(code: ClientErrorCode, cause?: unknown): CounterfoilError {
  const retryable = code !== 'aborted';
  return new CounterfoilError(
    { type: 'client', code, message: clientMessages[code], retryable },
    undefined,
    cause,
  );
}

/** A request that the client rejects before it sends anything. */
export function invalid(param: string, message: string): CounterfoilError {
  return new CounterfoilError({
    type: 'invalid_request',
    code: 'invalid_request',
    message,
    param,
    retryable: false,
  });
}
