/**
 * The closed list of errors. Adapters translate their vendor's errors into it; the HTTP server and the command line
 * translate it for their users. Any other thrown value is `internal`.
 *
 * A client may branch on `type`, the family; `code` is the exact case. `retryable` says whether the same request may
 * succeed when it is sent again unchanged.
 */
export const errorTypes = ['invalid_request', 'access', 'card', 'conflict', 'limit', 'service'] as const;
export type ErrorType = (typeof errorTypes)[number];

interface ErrorKind {
  readonly status: number;
  readonly type: ErrorType;
  readonly retryable: boolean;
  /** The message when the thrower gives none. */
  readonly message: string;
}

const kinds = {
  malformed_json: kind(400, 'invalid_request', 'The body is not well-formed JSON in UTF-8.'),
  invalid_request: kind(400, 'invalid_request', 'The request is not valid.'),
  amount_mismatch: kind(
    400,
    'invalid_request',
    'The amount or the currency is not the price of this payment; nothing was charged.',
  ),
  unauthenticated: kind(401, 'access', 'This request needs an API key.'),
  forbidden: kind(403, 'access', 'This request is not allowed.'),
  card_declined: kind(402, 'card', 'The card was declined.'),
  authentication_required: kind(
    402,
    'card',
    'The card issuer requires the cardholder to authenticate this payment; nothing was charged. Send a new request with a ' +
      'return_url, or ask for another card.',
  ),
  route_not_found: kind(404, 'invalid_request', 'There is no route at this path. See /docs for all routes.'),
  table_not_found: kind(404, 'invalid_request', 'There is no table with this name.'),
  item_not_found: kind(404, 'invalid_request', 'The table has no item with this id.'),
  payment_not_found: kind(404, 'invalid_request', 'There is no payment with this id.'),
  user_not_found: kind(404, 'invalid_request', 'There is no user with this id.'),
  session_not_found: kind(404, 'invalid_request', 'There is no session with this id.'),
  integration_not_found: kind(404, 'invalid_request', 'There is no integration with this name.'),
  key_not_found: kind(404, 'invalid_request', 'There is no API key with this id.'),
  processor_not_found: kind(404, 'invalid_request', 'There is no payment processor with this name.'),
  provider_not_found: kind(404, 'invalid_request', 'There is no identity provider with this name.'),
  method_not_allowed: kind(405, 'invalid_request', 'This path does not support this method.'),
  request_timeout: kind(408, 'invalid_request', 'The request did not arrive in time.', { retryable: true }),
  body_too_large: kind(413, 'limit', 'The body is larger than this service accepts.'),
  unsupported_media_type: kind(
    415,
    'invalid_request',
    'The body must be JSON in UTF-8, sent with "Content-Type: application/json" and no Content-Encoding.',
  ),
  headers_too_large: kind(431, 'limit', 'The request line and headers are larger than this service accepts.'),
  item_exists: kind(409, 'conflict', 'The table already has an item with this id; nothing was changed.'),
  integration_exists: kind(
    409,
    'conflict',
    'This name is already registered with other credentials, return URLs or scopes; nothing was changed.',
  ),
  key_exists: kind(
    409,
    'conflict',
    'A valid API key has this name already; nothing was created. Choose another name, or rotate that key if its secret is lost.',
  ),
  rotation_unfinished: kind(
    409,
    'conflict',
    'The previous secret of this API key is still valid; nothing was changed. To end it now, send "ends_previous": true.',
  ),
  last_admin_key: kind(
    409,
    'conflict',
    'This is the last valid API key with the scope admin; nothing was changed. Create another one first.',
  ),
  idempotency_key_in_use: kind(409, 'conflict', 'A request with this idempotency key is still running.', {
    retryable: true,
  }),
  precondition_failed: kind(412, 'conflict', 'The item has changed since you read it; nothing was changed.'),
  idempotency_key_reused: kind(
    422,
    'conflict',
    'This idempotency key was used before with another payload; nothing was charged.',
  ),
  backups_not_configured: kind(409, 'conflict', 'The settings of this service have no target for backups.'),
  backup_running: kind(409, 'conflict', 'A backup is being made; nothing was begun.', { retryable: true }),
  reconciliation_running: kind(
    409,
    'conflict',
    'The records of this processor are being compared already; nothing was begun.',
    { retryable: true },
  ),
  rate_limited: kind(429, 'limit', 'Too many requests.', { retryable: true }),
  internal: kind(
    500,
    'service',
    'Something went wrong on our side. The log has the details under this request id.',
  ),
  processor_error: kind(
    502,
    'service',
    'The payment processor could not process this charge; nothing was charged.',
    {
      retryable: true,
    },
  ),
  identity_provider_error: kind(
    502,
    'service',
    'The identity provider sent no valid response; nobody was signed in.',
    { retryable: true },
  ),
  unavailable: kind(503, 'service', 'The service is not ready; try again shortly.', { retryable: true }),
  overloaded: kind(503, 'service', 'The service is at its limit; try again shortly.', { retryable: true }),
  processor_not_configured: kind(
    503,
    'service',
    'This payment processor has no key in the settings of this service.',
  ),
  reconcile_required: kind(
    503,
    'service',
    'The store was restored from a backup, and payments are shut until they are reconciled; this request moved no money.',
    { retryable: true },
  ),
  payment_outcome_unknown: kind(
    504,
    'service',
    'The payment processor has not reported the outcome of this charge. It may have succeeded; the service is finding out. ' +
      'Retrieve the payment at the Location, or send the same request again.',
    { retryable: true },
  ),
  storage_full: kind(507, 'service', 'The disk is full; nothing was written.', { retryable: true }),
} satisfies Record<string, ErrorKind>;

export type ErrorCode = keyof typeof kinds;
export const errorKinds: Readonly<Record<ErrorCode, ErrorKind>> = kinds;
export const errorCodes = Object.keys(kinds) as readonly ErrorCode[];

export interface ExpectedPrice {
  readonly amount: number;
  readonly currency: string;
}

/** A rate limit, and how much of it one caller has left. */
export interface LimitState {
  readonly name: string;
  /** Requests that are allowed within `windowMs`. */
  readonly quota: number;
  readonly windowMs: number;
  readonly left: number;
  /** Milliseconds until the whole quota is left. */
  readonly fullInMs: number;
}

export interface ErrorDetails {
  /** The public message; it must contain no secrets. Defaults to the message of the code. */
  readonly message?: string | undefined;
  /** The field, header or path parameter at fault. */
  readonly param?: string | undefined;
  /** Why the card was declined, in the processor's words (`insufficient_funds`, `lost_card` …). */
  readonly declineCode?: string | undefined;
  /** What the cardholder must do before the charge can be made. */
  readonly nextAction?: PublicNextAction | undefined;
  /** The price of the payment, in the smallest unit of the currency. */
  readonly expected?: ExpectedPrice | undefined;
  /** Overrides whether the same request may succeed later. */
  readonly retryable?: boolean | undefined;
  /** Sent as `Retry-After`. */
  readonly retryAfterSeconds?: number | undefined;
  /** Of `rate_limited`: the limit, as the caller has used it. */
  readonly limit?: LimitState | undefined;
  /** Of `forbidden`: the scope that the caller lacks. */
  readonly missingScope?: string | undefined;
  /** Of `unauthenticated`: whether the API key of the request has ended. */
  readonly hasKeyEnded?: boolean | undefined;
  /** Further response headers (`Allow`, `Location`, `Payment-Id`). */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Names of the checks that failed. Only the readiness operation returns them. */
  readonly failed?: readonly string[] | undefined;
  /** Whether the error is a part of normal use: it is logged like a successful request, at `debug`. */
  readonly isRoutine?: boolean | undefined;
  /** For the log only; it must contain no secrets either. */
  readonly detail?: string | undefined;
  readonly cause?: unknown;
}

/** An error from the closed list. `publicError` makes its public part; `detail` is private. */
export class ServiceError extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorDetails;

  constructor(code: ErrorCode, details: ErrorDetails = {}) {
    // Nobody reads the stack of an error that is a response, and writing it costs more than the rest of that response.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(details.message ?? errorKinds[code].message, { cause: details.cause });
    Error.stackTraceLimit = stackTraceLimit;
    this.name = 'ServiceError';
    this.code = code;
    this.details = details;
  }

  get status(): number {
    return errorKinds[this.code].status;
  }
}

/** `invalid_request` for the field, header or path parameter at fault. @param detail for the log only */
export function invalidRequest(param: string | undefined, message: string, detail?: string): ServiceError {
  return new ServiceError('invalid_request', { param, message, detail });
}

/** Where to send a cardholder whose bank wants them to authenticate. */
export interface PublicNextAction {
  readonly type: 'redirect';
  readonly url: string;
  readonly client_secret?: string;
}

function kind(status: number, type: ErrorType, message: string, { retryable = false } = {}): ErrorKind {
  return { status, type, retryable, message };
}

/** The service cannot start. The message lists every problem of the settings, one line each, with the setting's name. */
export class SettingsError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'SettingsError';
    this.problems = problems;
  }
}

/**
 * The service cannot start now. Nothing is known to be wrong with its settings, so that the same start may succeed later: for
 * instance when the network is there.
 */
export class TransientError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'TransientError';
  }
}

/** The store cannot be used because its file is damaged; other settings do not help, and `damageAdvice` does. */
export class DamagedStoreError extends SettingsError {}

/** What an operator does about a damaged store. */
export const damageAdvice =
  'restore a backup into an empty data folder (counterfoil restore), or save what can be read (counterfoil recover)';
