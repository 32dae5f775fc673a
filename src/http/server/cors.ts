import type { FastifyContextConfig, FastifyReply, FastifyRequest } from 'fastify';
import type { RouteTable } from './route-table.ts';

/** How long a browser may cache a preflight response; browsers allow 2 or 24 hours at most. */
const preflightSecondsMax = 600;

const requestHeaders =
  'authorization, challenge-token, content-type, idempotency-key, if-match, if-none-match, payment-client-secret';
const responseHeaders =
  'etag, idempotent-replayed, location, payment-client-secret, payment-id, ratelimit, ratelimit-policy, refund-id, ' +
  'request-id, retry-after';

/**
 * Allows pages of other origins to read responses (CORS; Fetch standard, 3.2): the origins in the settings, and for charges
 * and for one payment the origins of the publishable keys. Each is compared exactly. The header names only the one origin,
 * never `*`, and never allows credentials: a key is not a cookie.
 */
export class CrossOrigin {
  readonly #configured: ReadonlySet<string>;
  readonly #ofKeys: () => ReadonlySet<string>;

  /** @param ofKeys the origins of all publishable keys */
  constructor(configured: readonly string[], ofKeys: () => ReadonlySet<string>) {
    this.#configured = new Set(configured);
    this.#ofKeys = ofKeys;
  }

  /** Whether a response of a route depends on the origin of the page. */
  concerns(route: FastifyContextConfig): boolean {
    return this.#configured.size > 0 || isForShopPages(route);
  }

  /** Sets the response headers that let an allowed page read the response. @param route one that `concerns` returns true for */
  mark({ headers }: FastifyRequest, reply: FastifyReply, route: FastifyContextConfig): undefined {
    const { origin } = headers;
    reply.header('vary', 'origin');
    if (origin === undefined || !this.#allows(origin, route)) return;
    reply.header('access-control-allow-origin', origin);
    reply.header('access-control-expose-headers', responseHeaders);
  }

  /**
   * Responds to the preflight of an allowed page. A preflight has no key, and its response only allows the request. Any other
   * OPTIONS request has a method that its path does not support.
   *
   * @returns whether a response was sent
   */
  respondToPreflight(request: FastifyRequest, reply: FastifyReply, paths: RouteTable): boolean {
    const { origin, 'access-control-request-method': method } = request.headers;
    if (request.method !== 'OPTIONS' || origin === undefined || method === undefined) return false;
    const route = paths.config(method, request.url);
    if (route === undefined || !this.#allows(origin, route)) return false;
    reply.code(204).headers({
      vary: 'origin',
      'access-control-allow-origin': origin,
      'access-control-allow-methods': method,
      'access-control-allow-headers': requestHeaders,
      'access-control-max-age': String(preflightSecondsMax),
    });
    reply.send();
    return true;
  }

  #allows(origin: string, route: FastifyContextConfig): boolean {
    return this.#configured.has(origin) || (isForShopPages(route) && this.#ofKeys().has(origin));
  }
}

/** Whether pages of the origins of publishable keys may use a route. */
function isForShopPages({ access, isClientSecret }: FastifyContextConfig): boolean {
  return access === 'payments:create' || isClientSecret !== undefined;
}
