import { clockToleranceSeconds } from '../identity/limits.ts';
import type { Checks } from '../identity/provider.ts';
import type { Sealer, SecretPlace } from '../secrets/sealer.ts';
import type { Engine } from '../storage/engine.ts';
import { signInMsMax } from './limits.ts';
import { momentOf, type OneTimeId, type OneTimeIds, stampOf } from './one-time-ids.ts';
import type { ProviderName } from './providers.ts';
import { digestOf, randomText } from './random-text.ts';
import { SignInRefusal } from './refusal.ts';

/** What a sign-in was begun for. */
export interface SignInRequest {
  readonly provider: ProviderName;
  readonly integration: string;
  /** The digest of the client id at the provider: another client cannot finish what this one began. */
  readonly clientDigest: string;
  /** Of the integration; absent where it was registered before there were any. */
  readonly registrationId?: string;
  readonly returnTo: { readonly url: string; readonly isOurs: boolean };
  /** Of an app on another origin: the PKCE challenge (S256) that its code is bound to. */
  readonly codeChallenge?: string;
}

/** A sign-in that was begun: what goes to the provider, and what the browser keeps. */
export interface BegunSignIn {
  readonly checks: Checks;
  /** Names the cookie among those of other tabs; sorts by time. */
  readonly cookieSuffix: string;
  /** The sign-in itself, sealed for its state. */
  readonly cookie: string;
}

/** What is sealed in the cookie. The state is not in it: it names the place of the seal. */
interface SealedSignIn extends SignInRequest {
  readonly nonce: string;
  readonly codeVerifier: string;
}

export interface PendingSignInContext {
  readonly engine: Engine;
  readonly sealer: Sealer;
  readonly oneTimeIds: OneTimeIds;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

const statePattern = /^[0-9a-z]{9}\.[A-Za-z0-9_-]{43}$/;

/**
 * Sign-ins that were begun and not finished. Each lies sealed in a cookie of the browser that began it, so that beginning
 * one takes nothing of the service. A state is a stamp of its time and 256 random bits; used states are remembered until
 * their cookies are too old.
 */
export class PendingSignIns {
  readonly #context: PendingSignInContext;

  constructor(context: PendingSignInContext) {
    this.#context = context;
  }

  /** New checks for a sign-in. */
  newChecks(): Checks {
    const state = `${stampOf(this.#context.now())}.${randomText()}`;
    return { state, nonce: randomText(), codeVerifier: randomText() };
  }

  /** Seals what was begun. Nothing is written. */
  seal(order: SignInRequest, checks: Checks): BegunSignIn {
    const { state, nonce, codeVerifier } = checks;
    const sealed: SealedSignIn = { ...order, nonce, codeVerifier };
    const cookie = this.#context.sealer.seal(JSON.stringify(sealed), placeOf(state));
    return { checks, cookieSuffix: cookieSuffixOf(state), cookie };
  }

  /** The sign-in that the cookie of a state holds, not too old. Refuses with `callback`, `unknown_state`, `other_browser`. */
  read(
    state: string,
    cookieOf: (cookieSuffix: string) => string | undefined,
  ): { readonly order: SignInRequest; readonly checks: Checks } {
    if (!statePattern.test(state)) throw new SignInRefusal('callback', 'state');
    const age = this.#context.now() - momentOf(state);
    if (age > signInMsMax || age < -clockToleranceSeconds * 1_000)
      throw new SignInRefusal('unknown_state', 'expired');
    const cookie = cookieOf(cookieSuffixOf(state));
    if (cookie === undefined) throw new SignInRefusal('other_browser');
    const { nonce, codeVerifier, ...order } = this.#open(cookie, state);
    return { order, checks: { state, nonce, codeVerifier } };
  }

  /**
   * Uses a state up that was never used before; durable when it resolves. Of all that come with one state at the same moment,
   * one wins. Refuses with `unknown_state`.
   */
  async use(state: string): Promise<void> {
    const { engine, oneTimeIds } = this.#context;
    if ((await engine.commit([oneTimeIds.use(idOf(state))])) !== undefined)
      throw new SignInRefusal('unknown_state', 'used');
  }

  #open(cookie: string, state: string): SealedSignIn {
    try {
      return JSON.parse(this.#context.sealer.open(cookie, placeOf(state))) as SealedSignIn;
    } catch (error) {
      throw new SignInRefusal('other_browser', 'the cookie does not open', error);
    }
  }
}

/** Remembered for twice the life of the cookie: a clock that is put back by less makes no state good again. */
function idOf(state: string): OneTimeId {
  return { kind: 'sign_in_state', id: state, expiresAt: momentOf(state) + 2 * signInMsMax };
}

function cookieSuffixOf(state: string): string {
  return `${state.slice(0, state.indexOf('.'))}-${digestOf(state).slice(0, 8)}`;
}

function placeOf(state: string): SecretPlace {
  return { record: 'sign-in', name: digestOf(state), field: 'begun' };
}
