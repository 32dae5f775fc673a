import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Access } from '../../access/scopes.ts';
import { preflightSecondsMax } from '../limits.ts';
import type { KnownPaths } from './route-table.ts';

const requestHeaders =
  'authorization, challenge-token, content-type, idempotency-key, if-match, if-none-match';
const answerHeaders =
  'etag, idempotent-replayed, location, payment-id, ratelimit, ratelimit-policy, refund-id, request-id, retry-after';

/**
 * Which pages of other origins may read the answers (CORS; Fetch standard, 3.2): those of the settings, and for
 * payments those of the publishable keys. Each is compared to the letter and named alone; never `*`, and never with
 * credentials, for a key is no cookie.
 */
export class CrossOrigin {
  readonly #configured: ReadonlySet<string>;
  readonly #ofKeys: () => ReadonlySet<string>;

  /** @param ofKeys the origins of all publishable keys */
  constructor(configured: readonly string[], ofKeys: () => ReadonlySet<string>) {
    this.#configured = new Set(configured);
    this.#ofKeys = ofKeys;
  }

  /** Says in the answer whether the page that asks may read it. */
  mark({ headers }: FastifyRequest, reply: FastifyReply, access: Access | undefined): void {
    const { origin } = headers;
    const varies = this.#configured.size > 0 || access === 'payments:create';
    if (varies) reply.header('vary', 'origin');
    if (origin === undefined || !this.#allows(origin, access)) return;
    reply.header('access-control-allow-origin', origin);
    reply.header('access-control-expose-headers', answerHeaders);
  }

  /**
   * Answers a preflight of an allowed page. It carries no key, and is told nothing but that it may ask. Any other is
   * a request with a method that its path does not take.
   *
   * @returns whether it was answered
   */
  answerPreflight(request: FastifyRequest, reply: FastifyReply, paths: KnownPaths): boolean {
    const { origin, 'access-control-request-method': method } = request.headers;
    if (request.method !== 'OPTIONS' || origin === undefined || method === undefined) return false;
    const access = paths.access(method, request.url);
    if (access === undefined || !this.#allows(origin, access)) return false;
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

  #allows(origin: string, access: Access | undefined): boolean {
    return this.#configured.has(origin) || (access === 'payments:create' && this.#ofKeys().has(origin));
  }
}
