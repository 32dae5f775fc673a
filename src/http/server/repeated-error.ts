import { type FieldsBesideError, failure } from '../../envelope.ts';
import { ServiceError } from '../../errors.ts';

/** What follows the request's id in the text. */
const afterId = '"}}}';

/**
 * An error that is created once and sent for many requests, as callers without a key or a route cause. Its text is made once for
 * each kind of fields beside it, and differs in the request's id only.
 */
export class RepeatedError extends ServiceError {
  readonly #texts = new Map<FieldsBesideError | undefined, string>();

  /** The envelope. @param requestId one of ours, which needs no escape in JSON */
  text(requestId: string, beside: FieldsBesideError | undefined): string {
    let beforeId = this.#texts.get(beside);
    if (beforeId === undefined) {
      beforeId = JSON.stringify(failure(this, '', beside)).slice(0, -afterId.length);
      this.#texts.set(beside, beforeId);
    }
    return beforeId + requestId + afterId;
  }
}
