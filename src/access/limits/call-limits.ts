import type { LimitState } from '../../errors.ts';
import { ServiceError } from '../../errors.ts';
import type { Caller } from '../permission.ts';
import { type Rate, RateLimit } from './rate-limit.ts';

/**
 * Charges per minute of one key, and from one address. One per second is a busy shop; a busier shop sets its own limit.
 */
const chargesPerMinuteDefault = 60;
/**
 * Declined charges per minute of one key, from all addresses. The limit only slows a key down, because one buyer must
 * not block a shop.
 */
const declinesOfKeyPerMinute = 60;
/** Sign-ins per minute from one address: more than an office or a school needs. */
const signInsPerMinuteDefault = 120;
/** Sign-ins to the console per minute from one address, with right and wrong keys: nobody types keys faster. */
const consoleSignInsPerMinute = 10;
/** Requests per second of one key, and from one address: a fraction of the throughput of one process. */
const requestsPerSecondDefault = 2_000;
/**
 * The part of a publishable key's charges that one address may make, because one browser must not use up the limit of a
 * shop.
 */
const browserChargesDivisor = 6;

/**
 * The configured limits; 0 means no limit. Without a setting, the default applies if the service has keys; without
 * keys, there is no limit.
 */
export interface LimitSettings {
  readonly charges?: number;
  readonly declines?: number;
  readonly requests?: number;
  readonly signIns?: number;
}

const second = 1_000;
const minute = 60_000;

/**
 * Limits the rate of each API key and each address. The default limits apply once the service has a key. A service
 * without keys has only the limits in the settings, because only callers on its own machine can reach it, and tests and
 * imports run there.
 *
 * Each process counts separately: N processes admit up to N times as much.
 */
export class CallLimits {
  readonly #requests: LimitOf;
  readonly #requestsOfKeys: LimitOf;
  readonly #charges: LimitOf;
  /** For charges with a publishable key, by address. */
  readonly #browserCharges: LimitOf;
  /** By key. This limit only slows a key down, and rejects nobody for long. Addresses have a separate limit. */
  readonly #declines: LimitOf;

  readonly #signIns: LimitOf;
  /** By address. No setting changes it. */
  readonly #consoleSignIns = new RateLimit({ quota: consoleSignInsPerMinute, windowMs: minute });

  constructor({ charges, declines, requests, signIns }: LimitSettings) {
    this.#signIns = makeLimit(signIns, signInsPerMinuteDefault, minute);
    this.#requests = makeLimit(requests, requestsPerSecondDefault, second);
    this.#requestsOfKeys = makeLimit(requests, requestsPerSecondDefault, second);
    this.#charges = makeLimit(charges, chargesPerMinuteDefault, minute);
    const ofBrowsers = Math.ceil((charges ?? chargesPerMinuteDefault) / browserChargesDivisor);
    this.#browserCharges = makeLimit(ofBrowsers, ofBrowsers, minute);
    this.#declines = makeLimit(declines === 0 ? 0 : declinesOfKeyPerMinute, 0, minute);
  }

  /**
   * Counts a request of any kind, before it is read. Throws `rate_limited`.
   *
   * @param isOpen whether the service has no keys
   */
  takeRequest(address: string, isOpen: boolean, now: number): void {
    this.#take('requests', this.#requests.of(isOpen), address, now);
  }

  /** Counts the start of a sign-in. Throws `rate_limited`. @param isOpen whether the service has no keys */
  takeSignIn(address: string, isOpen: boolean, now: number): void {
    this.#take('sign-ins', this.#signIns.of(isOpen), address, now);
  }

  /** Counts an attempt to sign in to the console. Throws `rate_limited`. */
  takeConsoleSignIn(address: string, now: number): void {
    this.#take('console-sign-ins', this.#consoleSignIns, address, now);
  }

  /** Counts a request with a key. Throws `rate_limited`. */
  takeRequestOfKey(id: string, now: number): void {
    this.#take('requests', this.#requestsOfKeys.of(false), id, now);
  }

  /**
   * Counts a charge for its address, before its body is read. Throws `rate_limited`, also if the key has no charge
   * left. Returns the state of the limit that is closer to its end, if there is a limit.
   */
  takeChargeOfAddress(caller: Caller, address: string, now: number): LimitState | undefined {
    if (caller.rights !== undefined) {
      throwIfSpent('declines', this.#declines.of(false), caller.id, now);
      throwIfSpent('charges', this.#charges.of(false), caller.id, now);
    }
    const ofAddress = this.#chargesOfAddress(caller);
    throwIfSpent('charges', ofAddress, address, now);
    ofAddress?.spend(address, now);
    return this.#standing(caller, address, now);
  }

  /** Counts a charge for its key, before the charge is reserved; otherwise like `takeChargeOfAddress`. */
  takeChargeOfKey(caller: Caller, address: string, now: number): LimitState | undefined {
    if (caller.rights !== undefined) {
      throwIfSpent('charges', this.#charges.of(false), caller.id, now);
      this.#charges.of(false)?.spend(caller.id, now);
    }
    return this.#standing(caller, address, now);
  }

  /** Counts a declined charge. Call it after the decline. */
  noteDecline(caller: Caller, now: number): void {
    if (caller.rights !== undefined) this.#declines.of(false)?.spend(caller.id, now);
  }

  #chargesOfAddress({ rights }: Caller): RateLimit | undefined {
    const isPublishable = rights?.kind === 'publishable';
    return isPublishable ? this.#browserCharges.of(false) : this.#charges.of(rights === undefined);
  }

  #standing(caller: Caller, address: string, now: number): LimitState | undefined {
    const ofKey = caller.rights === undefined ? undefined : this.#charges.of(false);
    return tighter(
      standing('charges', this.#chargesOfAddress(caller), address, now),
      standing('charges', ofKey, caller.id, now),
    );
  }

  #take(name: Name, limit: RateLimit | undefined, caller: string, now: number): void {
    const waitMs = limit?.take(caller, now) ?? 0;
    if (limit !== undefined && waitMs > 0) throw tooMany(name, limit, caller, waitMs, now);
  }
}

type Name = 'requests' | 'charges' | 'declines' | 'sign-ins' | 'console-sign-ins';

const messages = {
  requests: ({ quota }: Rate) => `Too many requests: the limit is ${quota} per second for one caller.`,
  'sign-ins': ({ quota }: Rate) =>
    `Too many sign-ins: the limit is ${quota} per minute from one address. Try again shortly.`,
  'console-sign-ins': ({ quota }: Rate) =>
    `Too many sign-ins to the console: the limit is ${quota} per minute from one address. Try again shortly.`,
  charges: ({ quota }: Rate) =>
    `Too many charges: the limit is ${quota} per minute for one caller. Nothing was charged.`,
  declines: ({ quota }: Rate) =>
    `Too many declined charges: the limit is ${quota} per minute for one key. Nothing was charged.`,
} satisfies Record<Name, (rate: Rate) => string>;

interface LimitOf {
  of(isOpen: boolean): RateLimit | undefined;
}

function makeLimit(setting: number | undefined, quotaDefault: number, windowMs: number): LimitOf {
  const quota = setting ?? quotaDefault;
  const limit = quota === 0 ? undefined : new RateLimit({ quota, windowMs });
  const ofOpen = setting === undefined ? undefined : limit;
  return { of: (isOpen) => (isOpen ? ofOpen : limit) };
}

function throwIfSpent(name: Name, limit: RateLimit | undefined, caller: string, now: number): void {
  const waitMs = limit?.waitMs(caller, now) ?? 0;
  if (limit !== undefined && waitMs > 0) throw tooMany(name, limit, caller, waitMs, now);
}

function tooMany(name: Name, limit: RateLimit, caller: string, waitMs: number, now: number): ServiceError {
  return new ServiceError('rate_limited', {
    message: messages[name](limit.rate),
    // Rounds up, but ignores the rounding error of a sum of doubles.
    retryAfterSeconds: Math.max(1, Math.ceil(waitMs / second - 1e-6)),
    limit: standing(name, limit, caller, now),
  });
}

function standing(
  name: Name,
  limit: RateLimit | undefined,
  caller: string,
  now: number,
): LimitState | undefined {
  if (limit === undefined) return undefined;
  const { quota, windowMs } = limit.rate;
  return { name, quota, windowMs, left: limit.left(caller, now), fullInMs: limit.fullInMs(caller, now) };
}

function tighter(a: LimitState | undefined, b: LimitState | undefined): LimitState | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return a.left <= b.left ? a : b;
}
