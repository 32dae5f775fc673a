export interface Reply {
  readonly status: number;
  readonly body: unknown;
  /** Sent before the endpoint processed the request, so that the idempotency layer does not store it. */
  readonly isUnprocessed?: boolean;
}

type Fields = Readonly<Record<string, unknown>>;

export function given(body: unknown): Reply {
  return { status: 200, body };
}

/** https://docs.stripe.com/api/errors */
export function failed(status: number, type: string, fields: Fields = {}): Reply {
  return { status, body: { error: { type, message: `${fields.code ?? 'The request'} failed.`, ...fields } } };
}

/** The reply to an invalid request, which is not processed. */
export function invalid(fields: Fields): Reply {
  return { ...failed(400, 'invalid_request_error', fields), isUnprocessed: true };
}

/** The reply to a request that failed during its processing. */
export function impossible(fields: Fields): Reply {
  return failed(400, 'invalid_request_error', fields);
}

export function declined(fields: Fields): Reply {
  return failed(402, 'card_error', fields);
}

export function tooManyRequests(): Reply {
  return { ...failed(429, 'invalid_request_error', { code: 'rate_limit' }), isUnprocessed: true };
}

export function badKey(): Reply {
  const message = 'Invalid API Key provided';
  return { ...failed(401, 'invalid_request_error', { message }), isUnprocessed: true };
}

export function keyInUse(): Reply {
  return { ...failed(409, 'idempotency_error', { code: 'idempotency_key_in_use' }), isUnprocessed: true };
}

export function outOfOrder(status = 500): Reply {
  return failed(status, 'api_error', { message: 'An unknown error occurred' });
}
