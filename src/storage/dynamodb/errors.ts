import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { ServiceError } from '../../errors.ts';

export type Attributes = Record<string, AttributeValue>;

/** An error of the API that rejects a command. */
export interface DynamoError extends Error {
  /** Of a PutItem: the existing item. */
  readonly Item?: Attributes;
  readonly CancellationReasons?: readonly {
    readonly Code?: string;
    readonly Message?: string;
    readonly Item?: Attributes;
  }[];
}

/** Engines name the reason of a cancellation differently from the error of a single command. */
const missingTable: ReadonlySet<string> = new Set(['ResourceNotFound', 'ResourceNotFoundException']);

export function isMissingTable({ name, CancellationReasons: reasons = [] }: DynamoError): boolean {
  return name === 'ResourceNotFoundException' || reasons.some(({ Code = '' }) => missingTable.has(Code));
}

/** Why the API considers a command invalid; for a transaction, its first invalid write. */
function invalidity({ name, message, CancellationReasons: reasons }: DynamoError): string | undefined {
  if (name === 'ValidationException') return message;
  return reasons?.find(({ Code }) => Code === 'ValidationError')?.Message;
}

/** Whether an error is about the key, however the engine words it. The service sends a valid key, so the table has a different one. */
export function isKeyProblem(error: DynamoError): boolean {
  const text = invalidity(error) ?? '';
  return /\bkeys?\b/i.test(text) && !isAboutSize(text);
}

/**
 * Maps three errors of the API to errors of the service: a transaction was cancelled, but not because of a condition; the item is too
 * large with attributes that the service does not know; the table has a different key.
 */
export function translateError(error: DynamoError): unknown {
  if (isKeyProblem(error)) return wrongKey(error);
  if (!isAboutSize(invalidity(error) ?? ''))
    return error.name === 'TransactionCanceledException' ? cancellation(error) : error;
  const message = 'With all of its attributes, the item would exceed the 400 KB limit of DynamoDB.';
  return new ServiceError('invalid_request', { param: 'name', message });
}

/** Nothing of a cancelled transaction was written, whatever the reason. */
function cancellation(error: DynamoError): ServiceError {
  const codes = (error.CancellationReasons ?? []).map(({ Code }) => Code ?? 'None');
  return new ServiceError('unavailable', {
    retryAfterSeconds: 1,
    detail: `DynamoDB cancelled a transaction: ${codes.join(', ')}`,
    cause: error,
  });
}

function isAboutSize(text: string): boolean {
  return /size/i.test(text);
}

/** The error for a user's table that cannot be served. */
export function wrongKey(cause?: Error): ServiceError {
  const message = 'The key of the DynamoDB table with this name is not a single string "id".';
  return new ServiceError('unavailable', { message, retryable: false, cause });
}
