import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Keys } from '../../access/keys/keys.ts';
import type { CallLimits } from '../../access/limits/call-limits.ts';
import type { Captcha } from '../../access/limits/captcha.ts';
import {
  type Caller,
  callerWith,
  checkPermission,
  type KnownCaller,
  type Rights,
  type Target,
} from '../../access/permission.ts';
import type { Access, Scope } from '../../access/scopes.ts';
import { ServiceError } from '../../errors.ts';
import type { ConsoleCallers } from './console-caller.ts';
import { admitByClientSecret, checkHeaderCounts, invalidKey, sentKey } from './credentials.ts';
import { rateLimitHeaders } from './error-response.ts';
import { checkDirectCaller, checkOwnPage } from './open-access.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether a key that is limited to tables may send the request, because the response has only those. */
    filtersTables?: boolean;
  }
  interface FastifyRequest {
    /** The caller; `anybody` until its key is found. */
    caller: Caller;
    /** The caller's address, also behind trusted proxies. */
    address: string;
    /** The address that limits count (`countedAddress`). */
    countedAddress: string;
  }
}

/**
 * Undefined for an admitted request, its error for a rejected one, or a promise that rejects with the error. The error of a
 * request without a valid key is returned: to throw it would cost more than the rest of its response.
 */
export type Admission = undefined | ServiceError | Promise<void>;

export interface AuthorizerContext {
  readonly keys: Keys['ring'];
  readonly limits: CallLimits;
  readonly cardTesting: { check(address: string): Promise<void> };
  /** Whether declined cards are counted on a service without keys too. */
  readonly areOpenDeclinesCounted: boolean;
  /** The captcha that a browser must pass before a charge; undefined if the settings name none. */
  readonly captcha: Captcha | undefined;
  /** The callers of the console; undefined if the service serves none. */
  readonly console: ConsoleCallers | undefined;
  /** Whether keys are required even if none exist: other machines can reach the service, or it moves real money. */
  readonly isNeverOpen: boolean;
  /** Pages of these origins may use a service without keys. */
  readonly trustedOrigins: ReadonlySet<string>;
}

/**
 * Authorizes requests before their body is read: it counts the address, finds the key, checks it against the route, and counts
 * the key and the charge. It is synchronous for most requests, which then take some microseconds.
 */
export class Authorizer {
  readonly #context: AuthorizerContext;

  constructor(context: AuthorizerContext) {
    this.#context = context;
  }

  /**
   * Admits a request and sets `request.caller`, or rejects it: `rate_limited`, `unauthenticated`, `forbidden`,
   * `invalid_request`, or `unavailable` if the keys cannot be read.
   *
   * @param access of its route; undefined without a route: any caller may learn that there is none
   */
  admit(request: FastifyRequest, reply: FastifyReply, access: Access | undefined): Admission {
    const { keys, limits } = this.#context;
    const at = performance.now();
    const authorizations = checkHeaderCounts(request);
    limits.takeRequest(request.countedAddress, !this.#areKeysRequired, at);
    if (access === 'signed') return undefined;
    if (access === undefined || access === 'public') {
      if (!this.#areKeysRequired) checkDirectCaller(request);
      return undefined;
    }
    const pending: PendingRequest = { request, reply, needed: access, authorizations, at };
    return keys.isFresh(at)
      ? this.#authorize(pending)
      : keys.refresh().then(() => orThrow(this.#authorize(pending)));
  }

  /** Counts the start of a sign-in. Throws `rate_limited`. @param now milliseconds of any clock, the same for all calls */
  takeSignIn({ countedAddress }: FastifyRequest, now: number): void {
    this.#context.limits.takeSignIn(countedAddress, !this.#areKeysRequired, now);
  }

  /** Counts an attempt to sign in to the console. Throws `rate_limited`. */
  takeConsoleSignIn({ countedAddress }: FastifyRequest): void {
    this.#context.limits.takeConsoleSignIn(countedAddress, performance.now());
  }

  /** Counts a declined charge for its key. The payments domain counts it for the buyer's address (`payments/card-testing.ts`). */
  noteDecline({ caller }: FastifyRequest): void {
    this.#context.limits.noteDecline(caller, performance.now());
  }

  /** The address that the card-testing limits count; undefined if the caller is a shop's server. */
  buyerAddress({ caller, address }: FastifyRequest): string | undefined {
    return this.#isOfBuyer(caller) ? address : undefined;
  }

  get #areKeysRequired(): boolean {
    return this.#context.isNeverOpen || this.#context.keys.areRequired;
  }

  #authorize(pending: PendingRequest): Admission {
    const { request, authorizations } = pending;
    const { keys, trustedOrigins, console } = this.#context;
    if (authorizations === 0 && !this.#areKeysRequired) {
      checkDirectCaller(request);
      checkOwnPage(request, trustedOrigins);
      return this.#countCharge(pending);
    }
    const admission = admitByClientSecret(request);
    if (admission !== undefined) return admission;
    if (authorizations === 0 && console?.isOne(request)) return this.#admitConsole(pending, console);
    const text = sentKey(request, authorizations);
    if (text instanceof ServiceError) return text;
    const key = keys.find(text);
    if (key !== undefined) return this.#admitCaller(pending, callerWith(key));
    // The key may be new. A wrong secret causes the same second look-up as an unknown key.
    return keys.refresh().then(() => {
      const late = keys.find(text);
      if (late === undefined) throw invalidKey;
      return this.#admitCaller(pending, callerWith(late));
    });
  }

  #admitCaller(pending: PendingRequest, caller: KnownCaller): Promise<void> | undefined {
    const { request, needed, at } = pending;
    const { keys, limits } = this.#context;
    request.caller = caller;
    limits.takeRequestOfKey(caller.id, at);
    checkPermission(caller.rights, needed, permissionTarget(request));
    if (caller.rights.kind === 'publishable') checkOrigin(caller.rights, request);
    if (caller.administrator === undefined) keys.noteUse(caller.id, at);
    return this.#countCharge(pending);
  }

  async #admitConsole(pending: PendingRequest, console: ConsoleCallers): Promise<void> {
    const caller = await console.authenticate(pending.request);
    await this.#admitCaller(pending, caller);
    await console.noteRequest(pending.request, caller);
  }

  #countCharge({ request, reply, needed, at }: PendingRequest): Promise<void> | undefined {
    // The scope also reads prices, with GET.
    if (needed !== 'payments:create' || request.method !== 'POST') return undefined;
    const { caller, countedAddress } = request;
    const left = this.#context.limits.takeChargeOfAddress(caller, countedAddress, at);
    if (left !== undefined) reply.headers(rateLimitHeaders(left));
    return this.#isOfBuyer(caller) ? this.#checkBuyer(request) : undefined;
  }

  /**
   * Counts a charge for its key, once its body is valid: otherwise a few addresses could use up the limit of a publishable
   * key, which is public, with invalid requests. Throws `rate_limited`.
   */
  takeChargeOfKey({ caller, countedAddress }: FastifyRequest, reply: FastifyReply): void {
    const { limits } = this.#context;
    const left = limits.takeChargeOfKey(caller, countedAddress, performance.now());
    if (left !== undefined) reply.headers(rateLimitHeaders(left));
  }

  /** The server of a shop, which has a secret key, sends the charges of all buyers: its address is not that of a buyer. */
  #isOfBuyer({ rights }: Caller): boolean {
    return rights === undefined ? this.#context.areOpenDeclinesCounted : rights.kind === 'publishable';
  }

  async #checkBuyer({ caller, address, headers }: FastifyRequest): Promise<void> {
    const { cardTesting, captcha } = this.#context;
    await cardTesting.check(address);
    if (caller.rights === undefined || captcha === undefined) return;
    if (!(await captcha(headers['challenge-token']?.toString(), address))) throw captchaNotPassed;
  }
}

/** A request that is being authorized. */
interface PendingRequest {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly needed: Scope;
  readonly authorizations: number;
  /** Arrival in milliseconds of `performance.now()`. */
  readonly at: number;
}

function permissionTarget({ params, route }: FastifyRequest): Target {
  const { TABLE_NAME, processor, route_id } = params as Readonly<Record<string, string | undefined>>;
  return {
    table: TABLE_NAME,
    filtersTables: route.config.filtersTables === true,
    route: route_id === undefined ? undefined : `${processor}/${route_id}`,
  };
}

/** Browsers send the true origin of a page. Other clients could send any origin; publishable keys are not for them. */
function checkOrigin({ origins = [] }: Rights, { headers }: FastifyRequest): void {
  if (requestOrigins(headers).some((origin) => origins.includes(origin))) return;
  throw new ServiceError('forbidden', {
    param: 'Origin',
    message: 'This publishable API key can be used only by pages of its configured origins.',
  });
}

/**
 * A browser sends no `Origin` with a GET to the origin of its page, and marks it as such (W3C Fetch Metadata). A proxy may have
 * terminated TLS.
 */
function requestOrigins({ origin, host, 'sec-fetch-site': site }: IncomingHttpHeaders): readonly string[] {
  if (origin !== undefined) return [origin];
  return site === 'same-origin' && host !== undefined ? [`https://${host}`, `http://${host}`] : [];
}

function orThrow(admission: Admission): Promise<void> | undefined {
  if (admission instanceof ServiceError) throw admission;
  return admission;
}

const captchaNotPassed = new ServiceError('forbidden', {
  param: 'Challenge-Token',
  message:
    'This charge needs the token of a passed challenge, in the header Challenge-Token. Nothing was charged.',
});
