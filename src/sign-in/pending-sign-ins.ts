import { timingSafeEqual } from 'node:crypto';
import type { Checks } from '../identity/provider.ts';
import { commitWritesMax, pendingSignInsMax, signInMsMax } from '../limits.ts';
import type { SealedRecords } from '../secrets/sealed-records.ts';
import type { Sealer, SecretPlace } from '../secrets/sealer.ts';
import type { Engine, Write } from '../storage/engine.ts';
import { itemsOf } from '../storage/item-text.ts';
import type { ProviderName } from './providers.ts';
import { digestOf, randomText } from './random-text.ts';
import { SignInRefusal } from './refusal.ts';

/** What a sign-in was begun for. */
export interface SignInOrder {
  readonly provider: ProviderName;
  readonly integration: string;
  /** The client at the provider; another one cannot finish what this one began. */
  readonly clientId: string;
  /** Of the integration; absent where it was registered before there were any. */
  readonly registrationId?: string;
  readonly returnTo: { readonly url: string; readonly isOurs: boolean };
  /** What the link said, for a link to try again. */
  readonly query: string;
  /** Of an app on another origin: the PKCE challenge (S256) that its code is bound to. */
  readonly codeChallenge?: string;
}

/** A sign-in that was begun: what goes to the provider, and what the browser keeps. */
export interface BegunSignIn {
  readonly checks: Checks;
  /** Names the cookie among those of other tabs; sorts by time. */
  readonly cookieSuffix: string;
  readonly browserKey: string;
}

/** As it lies in `service:sign-ins`, under `pendingId`. */
interface StoredSignIn extends SignInOrder {
  readonly createdAt: number;
  readonly nonce: string;
  readonly sealedVerifier: string;
  readonly browserKeyDigest: string;
}

const space = 'service:sign-ins';
/** Milliseconds in base 36, as long until the year 5188. */
const stampCharacters = 9;
const statePattern = /^[0-9a-z]{9}\.[A-Za-z0-9_-]{43}$/;

/** The PKCE verifiers that lie in `service:sign-ins`. */
export const sealedVerifiers: SealedRecords = {
  space,
  exchange(id, text, exchange) {
    const stored = JSON.parse(text) as StoredSignIn;
    return JSON.stringify({ ...stored, sealedVerifier: exchange(stored.sealedVerifier, verifierPlace(id)) });
  },
};

/**
 * Sign-ins that were begun and not finished. A state is a stamp of its time and 256 random bits; the record lies
 * under the stamp and a digest, so that old ones come first and the store tells nobody a state.
 */
export class PendingSignIns {
  readonly #engine: Engine;
  readonly #sealer: Sealer;
  readonly #now: () => number;

  constructor(engine: Engine, sealer: Sealer, now: () => number) {
    this.#engine = engine;
    this.#sealer = sealer;
    this.#now = now;
  }

  /** New checks for a sign-in; nothing is written yet. */
  newChecks(): Checks {
    const state = `${stampOf(this.#now())}.${randomText()}`;
    return { state, nonce: randomText(), codeVerifier: randomText() };
  }

  /** Keeps what was begun; durable when it resolves. Refuses with the reason `too_many`. */
  async keep(order: SignInOrder, checks: Checks): Promise<BegunSignIn> {
    const facts = await this.#engine.describe(space);
    // Where nobody counts, what is too many is for the limits on requests to say.
    if ((facts?.count ?? 0) >= pendingSignInsMax) throw new SignInRefusal('too_many');
    const id = pendingId(checks.state);
    const browserKey = randomText();
    const stored: StoredSignIn = {
      ...order,
      createdAt: this.#now(),
      nonce: checks.nonce,
      sealedVerifier: this.#sealer.seal(checks.codeVerifier, verifierPlace(id)),
      browserKeyDigest: digestOf(browserKey),
    };
    const write: Write = { kind: 'create', space, id, value: JSON.stringify(stored), makeSpace: true };
    if ((await this.#engine.commit([write])) !== undefined) throw new Error('two states are the same');
    return { checks, cookieSuffix: cookieSuffixOf(checks.state), browserKey };
  }

  /**
   * Takes the sign-in of a state: found, begun in this browser, not too old, and never taken before; durable when it
   * resolves. A foreign browser takes nothing. Refuses with `callback`, `unknown_state`, `other_browser`.
   *
   * @param browserKeyOf the browser's cookie of a suffix; undefined where it has none, or more than one
   */
  async take(
    state: string,
    browserKeyOf: (cookieSuffix: string) => string | undefined,
  ): Promise<{ readonly order: SignInOrder; readonly checks: Checks }> {
    if (!statePattern.test(state)) throw new SignInRefusal('callback', 'state');
    const id = pendingId(state);
    const text = await this.#engine.get(space, id);
    if (text === undefined) throw new SignInRefusal('unknown_state');
    const { createdAt, nonce, sealedVerifier, browserKeyDigest, ...order } = JSON.parse(text) as StoredSignIn;
    const browserKey = browserKeyOf(cookieSuffixOf(state));
    if (browserKey === undefined || !isSame(digestOf(browserKey), browserKeyDigest)) {
      throw new SignInRefusal('other_browser');
    }
    if (this.#now() - createdAt > signInMsMax) throw new SignInRefusal('unknown_state', 'expired');
    // Of all that come with one state at the same moment, one wins.
    const refusal = await this.#engine.commit([{ kind: 'delete', space, id, ifValue: text }]);
    // Not used, but rewrapped under another master key meanwhile.
    if (refusal?.reason === 'differs') return this.take(state, browserKeyOf);
    if (refusal !== undefined) throw new SignInRefusal('unknown_state', 'used');
    return {
      order,
      checks: { state, nonce, codeVerifier: this.#sealer.open(sealedVerifier, verifierPlace(id)) },
    };
  }

  /** Removes those that are too old. */
  async sweep(signal: AbortSignal): Promise<void> {
    const end = stampOf(this.#now() - signInMsMax);
    while (!signal.aborted) {
      const old: Write[] = [];
      const scan = await this.#engine.scan(space, { limit: commitWritesMax });
      for await (const { id } of itemsOf(scan?.chunks ?? [])) {
        if (id.slice(0, stampCharacters) >= end) break;
        old.push({ kind: 'delete', space, id });
      }
      // Refused when another process is at it too; then that one goes on.
      if (old.length === 0 || (await this.#engine.commit(old)) !== undefined) return;
    }
  }
}

function stampOf(moment: number): string {
  return Math.max(0, Math.floor(moment)).toString(36).padStart(stampCharacters, '0');
}

function pendingId(state: string): string {
  return `${state.slice(0, stampCharacters)}.${digestOf(state)}`;
}

function cookieSuffixOf(state: string): string {
  return `${state.slice(0, stampCharacters)}-${digestOf(state).slice(0, 8)}`;
}

function verifierPlace(id: string): SecretPlace {
  return { record: 'sign-in', name: id, field: 'code_verifier' };
}

function isSame(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));
}
