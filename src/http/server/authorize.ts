import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ApiKey } from '../../access/api-key.ts';
import { type CallLimits, rateLimitHeaders } from '../../access/call-limits.ts';
import type { Challenge } from '../../access/challenge.ts';
import { countedAddress } from '../../access/counted-address.ts';
import type { DeclineLimits } from '../../access/decline-limits.ts';
import type { KeyRing } from '../../access/key-ring.ts';
import { type Caller, checkPermission, type Target } from '../../access/permission.ts';
import type { Access, Scope } from '../../access/scopes.ts';
import { ServiceError } from '../../errors.ts';
import { checkDirectCaller, checkOwnPage } from './open-access.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who sends it: the caller of its key, from when that is known. */
    caller: Caller;
    /** Whose request it is, behind trusted proxies too. */
    address: string;
  }
}

export interface AuthorizerContext {
  readonly keys: KeyRing;
  readonly limits: CallLimits;
  readonly declines: DeclineLimits;
  /** Whether declined cards of an open service are counted too. */
  readonly areOpenDeclinesCounted: boolean;
  /** What a browser must have passed before a charge; undefined where the settings name none. */
  readonly challenge: Challenge | undefined;
  /** Whether keys are needed though there are none: other machines can reach the service, or it moves real money. */
  readonly isNeverOpen: boolean;
  /** Origins whose pages may send to an open service. */
  readonly trustedOrigins: ReadonlySet<string>;
}

/**
 * Who may come in. Before the body is read: addresses are counted, the key is found and held against what the route
 * needs, keys and charges are counted. Where no promise is needed none is made: most requests pass in some microseconds.
 */
export class Authorizer {
  readonly #context: AuthorizerContext;

  constructor(context: AuthorizerContext) {
    this.#context = context;
  }

  /**
   * Lets a request in, and says in `request.caller` whose it is, or refuses it: `rate_limited`, `unauthenticated`, `forbidden`,
   * `invalid_request`, or `unavailable` when it cannot be known which keys there are.
   *
   * @param access of its route; undefined where there is none, which is told to anybody
   * @returns undefined when that was done, or a promise of it
   */
  admit(request: FastifyRequest, reply: FastifyReply, access: Access | undefined): Promise<void> | undefined {
    const { keys, limits } = this.#context;
    const at = performance.now();
    const authorizations = checkHeaderCounts(request);
    limits.takeRequest(countedAddress(request.address), !this.#areKeysRequired, at);
    if (access === 'signed') return undefined;
    if (access === undefined || access === 'public') {
      if (!this.#areKeysRequired) checkDirectCaller(request);
      return undefined;
    }
    const asking: Asking = { request, reply, needed: access, authorizations, at };
    return keys.isFresh(at) ? this.#judge(asking) : keys.refresh().then(() => this.#judge(asking));
  }

  /** Counts a sign-in that is begun. Throws `rate_limited`. @param now milliseconds by any clock that is always the same */
  takeSignIn({ address }: FastifyRequest, now: number): void {
    this.#context.limits.takeSignIn(countedAddress(address), !this.#areKeysRequired, now);
  }

  /** Counts a charge that its processor declined. */
  async noteDecline({ caller, address }: FastifyRequest): Promise<void> {
    this.#context.limits.noteDecline(caller, performance.now());
    if (this.#isOfBuyer(caller)) await this.#context.declines.note(address);
  }

  get #areKeysRequired(): boolean {
    return this.#context.isNeverOpen || this.#context.keys.areRequired;
  }

  #judge(asking: Asking): Promise<void> | undefined {
    const { request, authorizations } = asking;
    const { keys, trustedOrigins } = this.#context;
    if (authorizations === 0 && !this.#areKeysRequired) {
      checkDirectCaller(request);
      checkOwnPage(request, trustedOrigins);
      return this.#letIn(asking);
    }
    const text = sentKey(request, authorizations);
    const key = keys.find(text);
    if (key !== undefined) return this.#letInWithKey(asking, key);
    // It may have been made a moment ago. A wrong secret is looked at again just as an unknown key is.
    return keys.refresh().then(() => {
      const late = keys.find(text);
      if (late === undefined) throw noSuchKey();
      return this.#letInWithKey(asking, late);
    });
  }

  #letInWithKey(asking: Asking, key: ApiKey): Promise<void> | undefined {
    const { request, needed, at } = asking;
    const { keys, limits } = this.#context;
    request.caller = { id: key.id, key };
    limits.takeRequestOfKey(key.id, at);
    checkPermission(key, needed, targetOf(request));
    keys.noteUse(key.id, at);
    return this.#letIn(asking);
  }

  #letIn({ request, reply, needed, at }: Asking): Promise<void> | undefined {
    if (needed !== 'payments:create') return undefined;
    const { caller, address } = request;
    const left = this.#context.limits.takeChargeOfAddress(caller, countedAddress(address), at);
    if (left !== undefined) reply.headers(rateLimitHeaders(left));
    return this.#isOfBuyer(caller) ? this.#checkBuyer(request) : undefined;
  }

  /**
   * Counts a charge for its key, once its body is known to be one: else a few addresses could use up the key of a web page,
   * which anybody has, with requests that are none. Throws `rate_limited`.
   */
  takeChargeOfKey({ caller, address }: FastifyRequest, reply: FastifyReply): void {
    const { limits } = this.#context;
    const left = limits.takeChargeOfKey(caller, countedAddress(address), performance.now());
    if (left !== undefined) reply.headers(rateLimitHeaders(left));
  }

  /** By a secret key the shop's own server sends the charges of all its buyers: its address is no buyer's. */
  #isOfBuyer({ key }: Caller): boolean {
    return key === undefined ? this.#context.areOpenDeclinesCounted : key.kind === 'publishable';
  }

  async #checkBuyer({ caller, address, headers }: FastifyRequest): Promise<void> {
    const { declines, challenge } = this.#context;
    await declines.check(address);
    if (caller.key !== undefined && challenge !== undefined)
      await challenge(headers['challenge-token']?.toString(), address);
  }
}

/** A request whose caller is looked for. */
interface Asking {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly needed: Scope;
  readonly authorizations: number;
  /** When it came, by the stopwatch of the process. */
  readonly at: number;
}

function targetOf({ params, headers }: FastifyRequest): Target {
  const { TABLE_NAME, processor, route_id } = params as Readonly<Record<string, string | undefined>>;
  return {
    table: TABLE_NAME,
    route: route_id === undefined ? undefined : `${processor}/${route_id}`,
    origin: headers.origin,
  };
}

/**
 * Node keeps the first of two equal headers, or joins them; a proxy in front may have meant the other. @returns how many
 * `Authorization` headers there are
 */
function checkHeaderCounts({ raw }: FastifyRequest): number {
  const { rawHeaders } = raw;
  let hosts = 0;
  let authorizations = 0;
  let idempotencyKeys = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++;
    else if (name.length === 13 && name.toLowerCase() === 'authorization') authorizations++;
    else if (name.length === 15 && name.toLowerCase() === 'idempotency-key') idempotencyKeys++;
  }
  if (hosts > 1) throw refusedHost('The request has more than one Host header.');
  if (hosts === 0 && raw.httpVersion !== '1.0') throw refusedHost('The request has no Host header.');
  if (idempotencyKeys > 1) {
    throw new ServiceError('invalid_request', {
      param: 'Idempotency-Key',
      message: 'The request has more than one Idempotency-Key header; nothing was charged.',
    });
  }
  return authorizations;
}

/** Whoever sent it may take something else for its end, too: nothing more is read from there (RFC 9112, 11.2). */
function refusedHost(message: string): ServiceError {
  return new ServiceError('invalid_request', { param: 'Host', message, headers: { connection: 'close' } });
}

/** The key as RFC 6750, 2.1, sends it. */
function sentKey({ headers }: FastifyRequest, authorizations: number): string {
  if (authorizations === 0) {
    throw new ServiceError('unauthenticated', {
      message: 'This request needs an API key, sent as "Authorization: Bearer cfk_…".',
      headers: { 'www-authenticate': 'Bearer realm="counterfoil"' },
    });
  }
  const text = /^Bearer +([\x21-\x7e]+)$/i.exec(headers.authorization ?? '')?.[1];
  if (authorizations > 1 || text === undefined) throw noSuchKey();
  return text;
}

/** One sentence for a key that is malformed, unknown, wrong, revoked or expired: which it is helps nobody honest. */
function noSuchKey(): ServiceError {
  return new ServiceError('unauthenticated', {
    param: 'Authorization',
    message: 'This is no valid API key: send one that is, as "Authorization: Bearer cfk_…".',
    // RFC 6750, 3.1
    headers: { 'www-authenticate': 'Bearer realm="counterfoil", error="invalid_token"' },
  });
}
