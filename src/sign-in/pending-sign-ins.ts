import { clockToleranceSeconds } from '../identity/limits.ts';
import type { Checks } from '../identity/provider.ts';
import { digest, randomText } from '../random.ts';
import type { EncryptionContext, Sealer } from '../secrets/sealer.ts';
import type { Engine } from '../storage/engine.ts';
import { signInMsMax } from './limits.ts';
import { type OneTimeId, type OneTimeIds, readTimeStamp, timeStamp } from './one-time-ids.ts';
import { SignInError } from './sign-in-error.ts';
import type { BegunSignIn, SignInRequest } from './types.ts';

/**
 * The encrypted content of the cookie. It does not contain the state, because the state is part of the encryption
 * context.
 */
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
 * Sign-ins that are not finished. Each is encrypted in a cookie of the browser that began it, so that it takes no space
 * in the store. A state is a timestamp and 256 random bits. Used states are stored until their cookies have expired.
 */
export class PendingSignIns {
  readonly #context: PendingSignInContext;

  constructor(context: PendingSignInContext) {
    this.#context = context;
  }

  /** Makes the checks of a new sign-in. */
  newChecks(): Checks {
    const state = `${timeStamp(this.#context.now())}.${randomText()}`;
    return { state, nonce: randomText(), codeVerifier: randomText() };
  }

  /** Encrypts a sign-in into a cookie. Nothing is written. */
  seal(request: SignInRequest, checks: Checks): BegunSignIn {
    const { state, nonce, codeVerifier } = checks;
    const sealed: SealedSignIn = { ...request, nonce, codeVerifier };
    const cookie = this.#context.sealer.seal(JSON.stringify(sealed), stateContext(state));
    return { checks, cookieSuffix: cookieSuffix(state), cookie };
  }

  /**
   * Decrypts the cookie of a state. `begunAt` is in milliseconds since 1970. Throws `callback`, `unknown_state`
   * (expired) or `other_browser`.
   */
  read(
    state: string,
    cookieOf: (cookieSuffix: string) => string | undefined,
  ): { readonly request: SignInRequest; readonly checks: Checks; readonly begunAt: number } {
    if (!statePattern.test(state)) throw new SignInError('callback', 'state');
    const begunAt = readTimeStamp(state);
    const age = this.#context.now() - begunAt;
    if (age > signInMsMax || age < -clockToleranceSeconds * 1_000)
      throw new SignInError('unknown_state', 'expired');
    const cookie = cookieOf(cookieSuffix(state));
    if (cookie === undefined) throw new SignInError('other_browser');
    const { nonce, codeVerifier, ...request } = this.#open(cookie, state);
    return { request, checks: { state, nonce, codeVerifier }, begunAt };
  }

  /**
   * Marks a state as used; durable when it resolves. If several callers have the same state, exactly one succeeds.
   * Throws `unknown_state` for the others.
   */
  async use(state: string): Promise<void> {
    const { engine, oneTimeIds } = this.#context;
    if ((await engine.commit([oneTimeIds.use(oneTimeState(state))])) !== undefined)
      throw new SignInError('unknown_state', 'used');
  }

  #open(cookie: string, state: string): SealedSignIn {
    try {
      return JSON.parse(this.#context.sealer.open(cookie, stateContext(state))) as SealedSignIn;
    } catch (error) {
      throw new SignInError('other_browser', 'the cookie cannot be decrypted', error);
    }
  }
}

/**
 * A used state is stored for twice the life of its cookie. So it stays invalid even if the clock is set back by up to
 * one such life.
 */
function oneTimeState(state: string): OneTimeId {
  return { kind: 'sign_in_state', id: state, expiresAt: readTimeStamp(state) + 2 * signInMsMax };
}

function cookieSuffix(state: string): string {
  return `${state.slice(0, state.indexOf('.'))}-${digest(state).slice(0, 8)}`;
}

function stateContext(state: string): EncryptionContext {
  return { record: 'sign-in', name: digest(state), field: 'begun' };
}
