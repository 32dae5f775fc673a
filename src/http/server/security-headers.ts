import type { Access } from '../../access/scopes.ts';
import { strictTransportSeconds } from '../limits.ts';

type Headers = Readonly<Record<string, string>>;

/** A browser takes an answer for what it says it is, and for nothing else. */
const asItSays: Headers = { 'x-content-type-options': 'nosniff' };
const neverKept: Headers = { ...asItSays, 'cache-control': 'no-store' };
/** A table may be kept by whoever asked, and is asked about again by its `ETag`. */
const askedAgain: Headers = { ...asItSays, 'cache-control': 'private, no-cache' };

const httpsOnly: Headers = { 'strict-transport-security': `max-age=${strictTransportSeconds}` };
const plain = { neverKept, askedAgain };
const secure = { neverKept: { ...neverKept, ...httpsOnly }, askedAgain: { ...askedAgain, ...httpsOnly } };

/**
 * Of every answer. @param access of its route, where it has one
 * @param isHttpsOnly whether browsers reach the service by https: then they are told never to try it without
 */
export function securityHeaders(access: Access | undefined, isHttpsOnly: boolean): Headers {
  const { neverKept, askedAgain } = isHttpsOnly ? secure : plain;
  return access === 'tables:read' ? askedAgain : neverKept;
}

/** Of an answer that says that something went wrong, whatever its route says of others. */
export const errorHeaders: Headers = neverKept;

/** Of a page: it tells no other site where its reader comes from, and shares nothing with windows of others. */
export const pageHeaders: Headers = {
  ...asItSays,
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'x-frame-options': 'DENY',
};
