import { ServiceError } from '../../errors.ts';
import { randomBytes } from '../../random.ts';
import type { Engine, Write } from '../../storage/engine.ts';
import { pagesOf } from '../../storage/item-text.ts';
import { accessTokenMs } from '../limits.ts';
import { isProviderName, type ProviderName } from '../providers.ts';
import type { Session } from '../session.ts';
import type { BoundRegistration } from '../stored-integration.ts';
import { signAccessToken } from './access-token.ts';
import type { AppRequest, AppTokens } from './app-tokens.ts';
import {
  isOver,
  newFamilyId,
  partsOf,
  type RefreshFamily,
  refreshed,
  refreshFamiliesSpace,
  withFirstToken,
} from './refresh-family.ts';
import { codeId, isChallenge, isExpired, isFor, type SignInCode, signInCodesSpace } from './sign-in-code.ts';
import type { SigningKeys } from './signing-keys.ts';

/** The body as received; `grant_type` determines which other fields are required. */
export interface TokenRequest {
  readonly grant_type: 'authorization_code' | 'refresh_token';
  readonly code?: string;
  readonly code_verifier?: string;
  readonly return_url?: string;
  readonly refresh_token?: string;
}

export interface GrantedTokens {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly expiresInSeconds: number;
}

export interface TokenGrantContext {
  readonly engine: Engine;
  readonly keys: SigningKeys;
  /** The issuer that access tokens name: public origin and base path. */
  readonly issuer: string;
  readonly findRegistration: (
    provider: ProviderName,
    integration: string,
  ) => Promise<BoundRegistration | undefined>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

const jwtPattern = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/** `foreign`: of another integration. `ended`: its registration, or the address of its app, exists no more. */
type Validate = (family: RefreshFamily) => 'good' | 'ended' | 'foreign';

type Redeemed = { readonly familyId: string; readonly family: RefreshFamily; readonly random: string };

/**
 * Issues tokens to apps on other origins. A one-time code is exchanged for an access token and the first refresh token of a
 * family, a refresh token for the next. Each change is one compare-and-swap, so that exactly one of several processes
 * issues tokens.
 */
export class TokenGrants implements AppTokens {
  readonly #context: TokenGrantContext;

  constructor(context: TokenGrantContext) {
    this.#context = context;
  }

  newCode(session: Session, { returnUrl, codeChallenge }: AppRequest) {
    if (!isChallenge(codeChallenge)) {
      throw invalid('code_challenge', 'code_challenge must be an S256 challenge: SHA-256 in base64url.');
    }
    const { identity, id: sessionId, registrationId, providerSession } = session;
    const code = randomBytes(32).toString('base64url');
    const issuedAt = this.#context.now();
    const family = newFamilyId(identity);
    const begun: RefreshFamily = {
      identity,
      audience: audienceOf(returnUrl),
      sessionId,
      returnUrl,
      ...(registrationId === undefined ? {} : { registrationId }),
      ...(providerSession === undefined ? {} : { providerSession }),
      createdAt: issuedAt,
    };
    const stored: SignInCode = { family, returnUrl, codeChallenge, issuedAt };
    const writes = [
      created(signInCodesSpace, codeId(code), stored),
      created(refreshFamiliesSpace, family, begun),
    ];
    return { code, writes };
  }

  /**
   * Throws `provider_not_found`, `integration_not_found`, and `invalid_request` for an invalid code or token. No message
   * reveals whether a code or token was once valid.
   */
  async grant(provider: string, integration: string, request: TokenRequest): Promise<GrantedTokens> {
    if (!isProviderName(provider)) throw new ServiceError('provider_not_found');
    const registration = await this.#context.findRegistration(provider, integration);
    if (registration === undefined) throw new ServiceError('integration_not_found');
    // Before the exchange: a failure to load the key must not use up a code.
    const signer = await this.#context.keys.signer();
    const isOurs = ({ identity }: RefreshFamily) =>
      identity.provider === provider && identity.integration === integration;
    const isGood = ({ registrationId, returnUrl }: RefreshFamily) =>
      registrationId === registration.id &&
      (returnUrl === undefined || registration.returnUrls.includes(returnUrl));
    const validate: Validate = (family) => (isOurs(family) ? (isGood(family) ? 'good' : 'ended') : 'foreign');
    const redeemed =
      request.grant_type === 'authorization_code'
        ? await this.#redeemCode(codeFields(request), validate)
        : await this.#redeemToken(refreshField(request), validate);
    const { familyId, family, random } = redeemed;
    const { issuer, now } = this.#context;
    const { identity, audience } = family;
    const accessToken = await signAccessToken(signer, { identity, audience, issuer, now: now() });
    return { accessToken, refreshToken: `${familyId}.${random}`, expiresInSeconds: accessTokenMs / 1_000 };
  }

  /**
   * Ends the family of a refresh token (RFC 7009, 2.1). Any token of the family works, also a used one: its id proves that the
   * caller had a token. A token of another integration has no effect. Throws `invalid_request` for an access token, which
   * cannot be revoked.
   */
  async revoke(provider: string, integration: string, token: string): Promise<void> {
    const family = partsOf(token)?.family;
    if (family === undefined && jwtPattern.test(token))
      throw invalid('token', 'An access token cannot be revoked: it expires within ten minutes.');
    const text = family && (await this.#context.engine.get(refreshFamiliesSpace, family));
    if (family === undefined || text === undefined) return;
    const { identity } = JSON.parse(text) as RefreshFamily;
    if (identity.provider === provider && identity.integration === integration) await this.#remove(family);
  }

  /** Removes expired codes, families and keys. */
  async sweep(): Promise<void> {
    const { engine, now, keys } = this.#context;
    const isPast = {
      [signInCodesSpace]: (text: string) => isExpired(JSON.parse(text) as SignInCode, now()),
      [refreshFamiliesSpace]: (text: string) => isOver(JSON.parse(text) as RefreshFamily, now()),
    };
    for (const space of [signInCodesSpace, refreshFamiliesSpace] as const) {
      for await (const page of pagesOf(engine, space)) {
        const past = page.filter(({ name }) => isPast[space](name));
        await Promise.all(
          past.map(({ id, name }) => engine.commit([{ kind: 'delete', space, id, ifValue: name }])),
        );
      }
    }
    await keys.sweep();
  }

  async #redeemCode(
    sent: { readonly code: string; readonly codeVerifier: string; readonly returnUrl: string },
    validate: Validate,
  ): Promise<Redeemed> {
    const { engine, now } = this.#context;
    const id = codeId(sent.code);
    for (;;) {
      const codeText = await engine.get(signInCodesSpace, id);
      const code = codeText === undefined ? undefined : (JSON.parse(codeText) as SignInCode);
      if (code === undefined || codeText === undefined || isExpired(code, now())) throw invalidCode();
      if (code.isUsed) {
        // RFC 6749, 4.1.2: two callers have the code, so one of them is not the app.
        await this.#remove(code.family);
        throw invalidCode('a code was used twice: its tokens have ended');
      }
      const familyText = await engine.get(refreshFamiliesSpace, code.family);
      const begun = familyText === undefined ? undefined : (JSON.parse(familyText) as RefreshFamily);
      if (begun === undefined || familyText === undefined)
        throw invalidCode('signed out before the exchange');
      if (validate(begun) !== 'good' || !isFor(code, sent)) throw invalidCode();
      const { family, random } = withFirstToken(begun, now());
      const rejection = await engine.commit([
        replaced(signInCodesSpace, id, codeText, { ...code, isUsed: true }),
        replaced(refreshFamiliesSpace, code.family, familyText, family),
      ]);
      if (rejection === undefined) return { familyId: code.family, family, random };
    }
  }

  async #redeemToken(token: string, validate: Validate): Promise<Redeemed> {
    const { engine, now } = this.#context;
    const parts = partsOf(token);
    if (parts === undefined) throw invalidToken();
    const { family: familyId, random } = parts;
    for (;;) {
      const text = await engine.get(refreshFamiliesSpace, familyId);
      const family = text === undefined ? undefined : (JSON.parse(text) as RefreshFamily);
      if (family === undefined || text === undefined || isOver(family, now())) throw invalidToken();
      const validity = validate(family);
      // Removed, so that the token stays invalid even if the address is registered again.
      if (validity === 'ended') await this.#remove(familyId);
      if (validity !== 'good') throw invalidToken();
      const outcome = refreshed(family, random, now());
      if (outcome.kind === 'repeated') return { familyId, family, random: outcome.random };
      if (outcome.kind === 'reused') {
        await this.#remove(familyId);
        throw invalidToken('a refresh token was used again: its family has ended');
      }
      const rejection = await engine.commit([replaced(refreshFamiliesSpace, familyId, text, outcome.family)]);
      if (rejection === undefined) return { familyId, family: outcome.family, random: outcome.random };
    }
  }

  /** Unconditional: it does not matter if the family has changed or is already deleted. */
  async #remove(family: string): Promise<void> {
    await this.#context.engine.commit([{ kind: 'delete', space: refreshFamiliesSpace, id: family }]);
  }
}

function codeFields({ code, code_verifier, return_url, refresh_token }: TokenRequest) {
  if (refresh_token !== undefined) throw unexpected('refresh_token', 'authorization_code');
  return {
    code: required('code', code),
    codeVerifier: required('code_verifier', code_verifier),
    returnUrl: required('return_url', return_url),
  };
}

function refreshField({ refresh_token, ...others }: TokenRequest): string {
  for (const name of ['code', 'code_verifier', 'return_url'] as const)
    if (others[name] !== undefined) throw unexpected(name, 'refresh_token');
  return required('refresh_token', refresh_token);
}

function required(name: string, value: string | undefined): string {
  if (value === undefined) throw invalid(name, `${name} is required.`);
  return value;
}

function unexpected(name: string, grant: string): ServiceError {
  return invalid(name, `${name} is not allowed with grant_type "${grant}".`);
}

function invalid(param: string, message: string, detail?: string): ServiceError {
  return new ServiceError('invalid_request', { param, message, detail });
}

function invalidCode(detail?: string): ServiceError {
  const why = 'it was used, has expired, or belongs to another integration, return_url or code_verifier';
  return invalid('code', `code is invalid: ${why}. Sign in again.`, detail);
}

function invalidToken(detail?: string): ServiceError {
  return invalid('refresh_token', 'refresh_token is invalid or has expired. Sign in again.', detail);
}

/** The origin of the app; for a private-use URI scheme (RFC 8252, 7.1), which has no origin, the scheme. */
function audienceOf(returnUrl: string): string {
  const { origin, protocol } = new URL(returnUrl);
  return origin === 'null' ? protocol : origin;
}

type TokenSpace = typeof signInCodesSpace | typeof refreshFamiliesSpace;

function created(space: TokenSpace, id: string, record: SignInCode | RefreshFamily): Write {
  return { kind: 'create', space, id, value: JSON.stringify(record), makeSpace: true };
}

function replaced(space: TokenSpace, id: string, ifValue: string, record: SignInCode | RefreshFamily): Write {
  return { kind: 'replace', space, id, value: JSON.stringify(record), ifValue };
}
