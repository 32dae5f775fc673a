import { failure, type LegacyErrorFields } from '../../envelope.ts';
import type { LimitState } from '../../errors.ts';
import { type ErrorDetails, ServiceError } from '../../errors.ts';

const second = 1_000;

/** For the response to an API key that is not valid (RFC 6750, 3.1). */
export const invalidKeyFields = {
  param: 'Authorization',
  headers: { 'www-authenticate': 'Bearer realm="counterfoil", error="invalid_token"' },
} as const;

/** An error of the domains with the headers of its response. */
export function withHeaders(error: ServiceError): ServiceError {
  const { limit, missingScope, hasKeyEnded } = error.details;
  if (limit !== undefined) return changed(error, { headers: rateLimitHeaders(limit) });
  if (hasKeyEnded) return changed(error, invalidKeyFields);
  if (missingScope === undefined) return error;
  const challenge = `Bearer error="insufficient_scope", scope="${missingScope}"`;
  return changed(error, { headers: { 'www-authenticate': challenge } });
}

function changed({ code, details }: ServiceError, fields: ErrorDetails): ServiceError {
  return new ServiceError(code, { ...details, ...fields });
}

/** draft-ietf-httpapi-ratelimit-headers-10: `q` per `w` seconds; `r` are left, and the full quota after `t` seconds. */
export function rateLimitHeaders(limit: LimitState): Record<string, string> {
  const { name, quota, windowMs, left, fullInMs } = limit;
  return {
    'ratelimit-policy': `"${name}";q=${quota};w=${windowMs / second}`,
    // Rounds up, except for the rounding error of a sum of doubles.
    ratelimit: `"${name}";r=${left};t=${Math.ceil(fullInMs / second - 1e-6)}`,
  };
}

/** What follows the request's id in the text. */
const afterId = '"}}}';

/**
 * An error that is created once and sent for many requests, such as those without a key or a route. Its text is made once for
 * each kind of legacy fields; only the request id differs.
 */
export class RepeatedError extends ServiceError {
  readonly #texts = new Map<LegacyErrorFields | undefined, string>();

  /** The envelope. @param requestId one of ours, which needs no escape in JSON */
  text(requestId: string, legacyFields: LegacyErrorFields | undefined): string {
    let beforeId = this.#texts.get(legacyFields);
    if (beforeId === undefined) {
      beforeId = JSON.stringify(failure(this, '', legacyFields)).slice(0, -afterId.length);
      this.#texts.set(legacyFields, beforeId);
    }
    return beforeId + requestId + afterId;
  }
}
