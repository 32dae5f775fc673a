export interface Reply {
  readonly status: number;
  readonly body: unknown;
  /** It was said before the endpoint began its work, so that the idempotency layer keeps nothing of it. */
  readonly isAtTheDoor?: boolean;
}

type Fields = Readonly<Record<string, unknown>>;

export function given(body: unknown): Reply {
  return { status: 200, body };
}

/** https://docs.stripe.com/api/errors */
export function failed(status: number, type: string, fields: Fields = {}): Reply {
  return { status, body: { error: { type, message: `${fields.code ?? 'The request'} failed.`, ...fields } } };
}

/** A request that is wrong in itself, which no work is begun for. */
export function invalid(fields: Fields): Reply {
  return { ...failed(400, 'invalid_request_error', fields), isAtTheDoor: true };
}

/** A request that turned out to be impossible while it was worked on. */
export function impossible(fields: Fields): Reply {
  return failed(400, 'invalid_request_error', fields);
}

export function declined(fields: Fields): Reply {
  return failed(402, 'card_error', fields);
}

export function tooManyRequests(): Reply {
  return { ...failed(429, 'invalid_request_error', { code: 'rate_limit' }), isAtTheDoor: true };
}

export function badKey(): Reply {
  const message = 'Invalid API Key provided';
  return { ...failed(401, 'invalid_request_error', { message }), isAtTheDoor: true };
}

export function keyInUse(): Reply {
  return { ...failed(409, 'idempotency_error', { code: 'idempotency_key_in_use' }), isAtTheDoor: true };
}

export function outOfOrder(status = 500): Reply {
  return failed(status, 'api_error', { message: 'An unknown error occurred' });
}
