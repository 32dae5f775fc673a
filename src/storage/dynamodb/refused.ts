import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { ServiceError } from '../../errors.ts';

type Attributes = Record<string, AttributeValue>;

/** What the API refuses a command with. */
export interface Refused extends Error {
  /** Of a PutItem: what was there instead. */
  readonly Item?: Attributes;
  readonly CancellationReasons?: readonly {
    readonly Code?: string;
    readonly Message?: string;
    readonly Item?: Attributes;
  }[];
}

export function isMissingTable({ name, CancellationReasons: reasons = [] }: Refused): boolean {
  return name === 'ResourceNotFoundException' || reasons.some(({ Code }) => Code === 'ResourceNotFound');
}

/** Why the API takes a command for wrong, where it does: of a transaction, the first of its writes that is. */
function invalidity({ name, message, CancellationReasons: reasons }: Refused): string | undefined {
  if (name === 'ValidationException') return message;
  return reasons?.find(({ Code }) => Code === 'ValidationError')?.Message;
}

/** Engines word it differently, and nothing but the table's own key can be wrong with a key that the service sends. */
export function isKeyProblem(error: Refused): boolean {
  const text = invalidity(error) ?? '';
  return /\bkeys?\b/i.test(text) && !isOfSize(text);
}

/** An update makes an item that has further attributes, unknown to us, too large; a table's key may be another one. */
export function translated(error: Refused): unknown {
  if (isKeyProblem(error)) return otherKey(error);
  if (!isOfSize(invalidity(error) ?? '')) return error;
  const message = 'The item would be larger than the 400 KB that DynamoDB takes, with all of its attributes.';
  return new ServiceError('invalid_request', { param: 'name', message });
}

function isOfSize(text: string): boolean {
  return /size/i.test(text);
}

/** A user's table that cannot be served. */
export function otherKey(cause?: Error): ServiceError {
  const message = 'The DynamoDB table of this name has another key than a string "id" alone.';
  return new ServiceError('unavailable', { message, retryable: false, cause });
}
