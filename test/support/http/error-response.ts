import assert from 'node:assert/strict';

/** A response of the test service or of a raw connection. */
export interface ErrorResponse {
  readonly status: number;
  readonly headers: { get(name: string): string | null | undefined };
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read responses of every shape
  readonly json: any;
}

export interface ExpectedError {
  readonly status: number;
  readonly code: string;
  /** Checked only if given. */
  readonly param?: string;
}

const families = ['invalid_request', 'access', 'card', 'conflict', 'limit', 'service'];
const fields = ['type', 'code', 'message', 'param', 'decline_code', 'expected', 'retryable', 'request_id'];

/** Checks the envelope, the status and every field of `error` that each error response must have. */
export function assertError(response: ErrorResponse, expected: ExpectedError): void {
  const { status, headers, text, json } = response;
  assert.equal(status, expected.status, text);
  assert.equal(headers.get('content-type'), 'application/json');
  assert.deepEqual(Object.keys(json ?? {}), ['statusCode', 'body'], text);
  assert.equal(json.statusCode, status);

  const { error } = json.body;
  assert.equal(error?.code, expected.code, text);
  assert.ok(families.includes(error.type), text);
  assert.match(error.message, /^\S.{8,}\.$/, 'the message is a sentence');
  assert.equal(typeof error.retryable, 'boolean', text);
  assert.match(error.request_id, /^req_[0-9a-z]{12,}$/);
  assert.deepEqual(
    Object.keys(error).filter((name) => !fields.includes(name)),
    [],
  );
  assert.equal(headers.get('request-id') ?? error.request_id, error.request_id);
  if (expected.param !== undefined) assert.equal(error.param, expected.param, text);
}
