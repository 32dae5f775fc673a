import { type PublicError, publicError, type ServiceError } from './errors.ts';

/** What every answer of every operation looks like; the HTTP status line carries the same number. */
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
 * Fields that stand beside `error` so that a client which reads only the documented fields of an operation is not
 * misled by a failure, for instance `{ msg, complete: false }` for create.
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
