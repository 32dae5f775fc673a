import { ServiceError } from '../../errors.ts';
import type { Attributes } from './layout.ts';

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

/** An update makes an item that has further attributes, unknown to us, too large; a table's key may be another one. */
export function translated(error: Refused): unknown {
  const reason = error.CancellationReasons?.find(({ Code }) => Code === 'ValidationError')?.Message;
  const text = error.name === 'ValidationException' ? error.message : reason;
  if (text === undefined) return error;
  if (/size/i.test(text)) {
    const message =
      'The item would be larger than the 400 KB that DynamoDB takes, with all of its attributes.';
    return new ServiceError('invalid_request', { param: 'name', message });
  }
  if (/key element|provided key|key schema|Type mismatch for key/i.test(text)) {
    const message = 'The DynamoDB table of this name has another key than a string "id" alone.';
    return new ServiceError('unavailable', { message, retryable: false, cause: error });
  }
  return error;
}
