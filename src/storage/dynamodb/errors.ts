import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { ServiceError } from '../../errors.ts';

type Attributes = Record<string, AttributeValue>;

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

/** Engines word it differently. The service sends a valid key, so a key error means that the table has a different key. */
export function isKeyProblem(error: DynamoError): boolean {
  const text = invalidity(error) ?? '';
  return /\bkeys?\b/i.test(text) && !isOfSize(text);
}

/** Maps three API errors: a transaction was cancelled for a reason of no write; the item, with attributes that are unknown to us, is too large; the table has a different key. */
export function translated(error: DynamoError): unknown {
  if (isKeyProblem(error)) return otherKey(error);
  if (!isOfSize(invalidity(error) ?? '')) return isCancelled(error) ? cancelled(error) : error;
  const message = 'With all of its attributes, the item would exceed the 400 KB limit of DynamoDB.';
  return new ServiceError('invalid_request', { param: 'name', message });
}

function isCancelled({ name }: DynamoError): boolean {
  return name === 'TransactionCanceledException';
}

/** Nothing of a cancelled transaction was written, whatever the reason. */
function cancelled(error: DynamoError): ServiceError {
  const codes = (error.CancellationReasons ?? []).map(({ Code }) => Code ?? 'None');
  return new ServiceError('unavailable', {
    retryAfterSeconds: 1,
    detail: `DynamoDB cancelled a transaction: ${codes.join(', ')}`,
    cause: error,
  });
}

function isOfSize(text: string): boolean {
  return /size/i.test(text);
}

/** The error for a user's table that cannot be served. */
export function otherKey(cause?: Error): ServiceError {
  const message = 'The key of the DynamoDB table with this name is not a single string "id".';
  return new ServiceError('unavailable', { message, retryable: false, cause });
}
