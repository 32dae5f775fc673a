import { ServiceError } from '../errors.ts';
import {
  browserChargesDivisor,
  chargesPerMinuteDefault,
  declinesOfKeyPerMinute,
  requestsPerSecondDefault,
  signInsPerMinuteDefault,
} from './limits.ts';
import type { Caller } from './permission.ts';
import { type Rate, RateLimit } from './rate-limit.ts';

/** What the settings say; 0 is no limit. Absent, the limit is the default, and an open service has none. */
export interface LimitSettings {
  readonly charges?: number;
  readonly declines?: number;
  readonly requests?: number;
  readonly signIns?: number;
}

/** What is left of a limit, as `RateLimit` tells it. */
export interface Standing {
  readonly name: string;
  readonly rate: Rate;
  readonly left: number;
  readonly fullInMs: number;
}

const second = 1_000;
const minute = 60_000;

/**
 * How much one API key may ask for, and one address. The limits are on from the first key. A service that is open to
 * direct callers of its own machine has only those that the settings name: nobody else can call it, and it is where
 * tests and imports run.
 *
 * Each process counts for itself: N of them let through up to N times as much.
 */
export class CallLimits {
  readonly #requests: LimitOf;
  readonly #requestsOfKeys: LimitOf;
  readonly #charges: LimitOf;
  /** From one address by a publishable key. */
  readonly #browserCharges: LimitOf;
  /** Of one key: so many slow it down, and shut nobody out for long. Addresses are counted by `DeclineLimits`. */
  readonly #declines: LimitOf;

  readonly #signIns: LimitOf;

  constructor({ charges, declines, requests, signIns }: LimitSettings) {
    this.#signIns = limitOf(signIns, signInsPerMinuteDefault, minute);
    this.#requests = limitOf(requests, requestsPerSecondDefault, second);
    this.#requestsOfKeys = limitOf(requests, requestsPerSecondDefault, second);
    this.#charges = limitOf(charges, chargesPerMinuteDefault, minute);
    const ofBrowsers = Math.ceil((charges ?? chargesPerMinuteDefault) / browserChargesDivisor);
    this.#browserCharges = limitOf(ofBrowsers, ofBrowsers, minute);
    this.#declines = limitOf(declines === 0 ? 0 : declinesOfKeyPerMinute, 0, minute);
  }

  /** Of any request, before anything else is known of it. Refuses with `rate_limited`. @param isOpen whether the service is */
  takeRequest(address: string, isOpen: boolean, now: number): void {
    this.#take('requests', this.#requests.of(isOpen), address, now);
  }

  /** Of a sign-in that is begun. Refuses with `rate_limited`. @param isOpen whether the service is */
  takeSignIn(address: string, isOpen: boolean, now: number): void {
    this.#take('sign-ins', this.#signIns.of(isOpen), address, now);
  }

  /** Of a request with a key. Refuses with `rate_limited`. */
  takeRequestOfKey(id: string, now: number): void {
    this.#take('requests', this.#requestsOfKeys.of(false), id, now);
  }

  /**
   * Of a charge, before its body is read. Refuses with `rate_limited`, also when the key has none left; else tells what is left,
   * where there is a limit.
   */
  takeChargeOfAddress(caller: Caller, address: string, now: number): Standing | undefined {
    if (caller.key !== undefined) {
      refuseWhenSpent('declines', this.#declines.of(false), caller.id, now);
      refuseWhenSpent('charges', this.#charges.of(false), caller.id, now);
    }
    const ofAddress = this.#chargesOfAddress(caller);
    refuseWhenSpent('charges', ofAddress, address, now);
    ofAddress?.spend(address, now);
    return this.#standing(caller, address, now);
  }

  /** Of a charge, before it is reserved; otherwise as `takeChargeOfAddress`. */
  takeChargeOfKey(caller: Caller, address: string, now: number): Standing | undefined {
    if (caller.key !== undefined) {
      refuseWhenSpent('charges', this.#charges.of(false), caller.id, now);
      this.#charges.of(false)?.spend(caller.id, now);
    }
    return this.#standing(caller, address, now);
  }

  /** After a charge was declined. */
  noteDecline(caller: Caller, now: number): void {
    if (caller.key !== undefined) this.#declines.of(false)?.spend(caller.id, now);
  }

  #chargesOfAddress({ key }: Caller): RateLimit | undefined {
    return key?.kind === 'publishable' ? this.#browserCharges.of(false) : this.#charges.of(key === undefined);
  }

  #standing(caller: Caller, address: string, now: number): Standing | undefined {
    const ofKey = caller.key === undefined ? undefined : this.#charges.of(false);
    return tighter(
      standing('charges', this.#chargesOfAddress(caller), address, now),
      standing('charges', ofKey, caller.id, now),
    );
  }

  #take(name: Name, limit: RateLimit | undefined, who: string, now: number): void {
    const waitMs = limit?.take(who, now) ?? 0;
    if (limit !== undefined && waitMs > 0) throw tooMany(name, limit, who, waitMs, now);
  }
}

type Name = 'requests' | 'charges' | 'declines' | 'sign-ins';

const sentences = {
  requests: ({ quota }: Rate) => `Too many requests: ${quota} a second are taken of one caller.`,
  'sign-ins': ({ quota }: Rate) =>
    `Too many sign-ins were begun: ${quota} a minute are taken from one address. Try again in a moment.`,
  charges: ({ quota }: Rate) =>
    `Too many charges: ${quota} a minute are taken of one caller. Nothing was charged.`,
  declines: ({ quota }: Rate) =>
    `Too many declined charges: ${quota} a minute are taken of one key. Nothing was charged.`,
} satisfies Record<Name, (rate: Rate) => string>;

interface LimitOf {
  of(isOpen: boolean): RateLimit | undefined;
}

function limitOf(setting: number | undefined, otherwise: number, windowMs: number): LimitOf {
  const quota = setting ?? otherwise;
  const limit = quota === 0 ? undefined : new RateLimit({ quota, windowMs });
  const ofOpen = setting === undefined ? undefined : limit;
  return { of: (isOpen) => (isOpen ? ofOpen : limit) };
}

function refuseWhenSpent(name: Name, limit: RateLimit | undefined, who: string, now: number): void {
  const waitMs = limit?.waitMs(who, now) ?? 0;
  if (limit !== undefined && waitMs > 0) throw tooMany(name, limit, who, waitMs, now);
}

function tooMany(name: Name, limit: RateLimit, who: string, waitMs: number, now: number): ServiceError {
  return new ServiceError('rate_limited', {
    message: sentences[name](limit.rate),
    retryAfterSeconds: Math.max(1, wholeSeconds(waitMs)),
    headers: rateLimitHeaders(standing(name, limit, who, now) as Standing),
  });
}

function standing(name: Name, limit: RateLimit | undefined, who: string, now: number): Standing | undefined {
  if (limit === undefined) return undefined;
  return { name, rate: limit.rate, left: limit.left(who, now), fullInMs: limit.fullInMs(who, now) };
}

function tighter(a: Standing | undefined, b: Standing | undefined): Standing | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return a.left <= b.left ? a : b;
}

/** draft-ietf-httpapi-ratelimit-headers-10: `q` in `w` seconds; `r` are left, and all of them in `t` seconds. */
export function rateLimitHeaders({ name, rate, left, fullInMs }: Standing): Record<string, string> {
  return {
    'ratelimit-policy': `"${name}";q=${rate.quota};w=${rate.windowMs / second}`,
    ratelimit: `"${name}";r=${left};t=${wholeSeconds(fullInMs)}`,
  };
}

/** Rounded up, but not for what is only the error of a sum of doubles. */
function wholeSeconds(ms: number): number {
  return Math.ceil(ms / second - 1e-6);
}
