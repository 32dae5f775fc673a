import type { Access } from '../../access/scopes.ts';

/** A year, as the preload list of the browsers requires (RFC 6797, 6.1.1). */
const strictTransportSeconds = 365 * 24 * 60 * 60;

type Headers = Readonly<Record<string, string>>;

/** Browsers use the declared content type only. */
const noSniff: Headers = { 'x-content-type-options': 'nosniff' };
const noStore: Headers = { ...noSniff, 'cache-control': 'no-store' };
/** A client may cache a table, and must revalidate it by its `ETag`. */
const revalidate: Headers = { ...noSniff, 'cache-control': 'private, no-cache' };

const httpsOnly: Headers = { 'strict-transport-security': `max-age=${strictTransportSeconds}` };
const plain = { noStore, revalidate };
const secure = { noStore: { ...noStore, ...httpsOnly }, revalidate: { ...revalidate, ...httpsOnly } };

/**
 * Headers of every response. @param access of its route, if it has one
 * @param isHttpsOnly whether browsers reach the service by https only: then HSTS forbids them to use http
 */
export function securityHeaders(access: Access | undefined, isHttpsOnly: boolean): Headers {
  const { noStore, revalidate } = isHttpsOnly ? secure : plain;
  return access === 'tables:read' ? revalidate : noStore;
}

/** Headers of every error response; they override those of the route. */
export const errorHeaders: Headers = noStore;

/** Headers of a page: it sends no referrer and shares nothing with windows of other origins. */
export const pageHeaders: Headers = {
  ...noSniff,
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'x-frame-options': 'DENY',
};
