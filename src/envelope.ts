import { type PublicError, publicError, type ServiceError } from './errors.ts';

/** The shape of every response body. The HTTP status line carries the same number. */
export interface Envelope<Body> {
  readonly statusCode: number;
  readonly body: Body;
}

/** RFC 8259: JSON has no charset parameter. */
export const jsonContentType = 'application/json';

export function success<Body>(body: Body): Envelope<Body> {
  return { statusCode: 200, body };
}

/**
 * Fields beside `error`, for instance `{ msg, complete: false }` for create. They keep a failure from misleading a client
 * that reads only the documented fields of an operation.
 */
export type FieldsBesideError = (message: string, error: ServiceError) => Readonly<Record<string, unknown>>;

export function failure(
  error: ServiceError,
  requestId: string,
  beside: FieldsBesideError = () => ({}),
): Envelope<{ error: PublicError }> {
  return {
    statusCode: error.status,
    body: { ...beside(error.message, error), error: publicError(error, requestId) },
  };
}

/** The exact response to a request. */
export interface StoredResponse {
  readonly status: number;
  readonly text: string;
}
