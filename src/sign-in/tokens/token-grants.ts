import { defined } from '../../defined.ts';
import { invalidRequest, ServiceError } from '../../errors.ts';
import { randomBytes } from '../../random.ts';
import type { Engine, Write } from '../../storage/engine.ts';
import { Records } from '../../storage/records.ts';
import type { AppRequest, AppTokens } from '../context.ts';
import { accessTokenMs } from '../limits.ts';
import type { BoundRegistration } from '../stored-integration.ts';
import { isProviderName, type ProviderName, type Session } from '../types.ts';
import {
  currentToken,
  isOver,
  newFamilyId,
  parseRefreshToken,
  type RefreshFamily,
  refreshed,
  refreshFamilies,
  tokenAudience,
  withFirstToken,
} from './refresh-family.ts';
import {
  codeId,
  erased,
  exchanged,
  isChallenge,
  isExpired,
  isFor,
  isRepeatable,
  openTokens,
  type SentCode,
  type SignInCode,
} from './sign-in-code.ts';
import { type Signer, type SigningKeys, signAccessToken } from './signing-keys.ts';
import { codeFields, invalidCode, invalidToken, refreshField, type TokenRequest } from './token-request.ts';

export interface GrantedTokens {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly expiresInSeconds: number;
}

export interface TokenGrantContext {
  readonly engine: Engine;
  readonly keys: SigningKeys;
  /** The issuer in access tokens: public origin and base path. */
  readonly issuer: string;
  readonly findRegistration: (
    provider: ProviderName,
    integration: string,
  ) => Promise<BoundRegistration | undefined>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

const jwtPattern = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/**
 * `foreign`: the family belongs to another integration. `ended`: its registration or the address of its app no longer
 * exists.
 */
type Validate = (family: RefreshFamily) => 'good' | 'ended' | 'foreign';

type Redeemed = { readonly familyId: string; readonly family: RefreshFamily; readonly random: string };

/**
 * Issues tokens to apps on other origins. A one-time code is exchanged for an access token and the first refresh token
 * of a family. A refresh token is exchanged for an access token and the next refresh token. Each change is one
 * compare-and-swap, so that exactly one of several processes issues tokens.
 */
export class TokenGrants implements AppTokens {
  readonly #context: TokenGrantContext;
  readonly #codes: Records<SignInCode>;
  readonly #families: Records<RefreshFamily>;

  constructor(context: TokenGrantContext) {
    this.#context = context;
    this.#codes = new Records(context.engine, 'sign-in-codes');
    this.#families = refreshFamilies(context.engine);
  }

  newCode(session: Session, { returnUrl, codeChallenge }: AppRequest) {
    if (!isChallenge(codeChallenge)) {
      throw invalidRequest(
        'code_challenge',
        'code_challenge must be an S256 challenge: SHA-256 in base64url.',
      );
    }
    const { identity, id: sessionId, registrationId, providerSession } = session;
    const code = randomBytes(32).toString('base64url');
    const issuedAt = this.#context.now();
    const family = newFamilyId(identity);
    const begun: RefreshFamily = {
      identity,
      audience: tokenAudience(returnUrl),
      sessionId,
      returnUrl,
      ...defined({ registrationId, providerSession }),
      createdAt: issuedAt,
    };
    const stored: SignInCode = { family, returnUrl, codeChallenge, issuedAt };
    const writes = [this.#codes.creation(codeId(code), stored), this.#families.creation(family, begun)];
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
    // The key is loaded before the exchange, because a failure to load it must not use up a code.
    const signer = await this.#context.keys.signer();
    const isOurs = ({ identity }: RefreshFamily) =>
      identity.provider === provider && identity.integration === integration;
    const isGood = ({ registrationId, returnUrl }: RefreshFamily) =>
      registrationId === registration.id &&
      (returnUrl === undefined || registration.returnUrls.includes(returnUrl));
    const validate: Validate = (family) => (isOurs(family) ? (isGood(family) ? 'good' : 'ended') : 'foreign');
    return request.grant_type === 'authorization_code'
      ? this.#exchange(codeFields(request), validate, signer)
      : this.#granted(await this.#redeemToken(refreshField(request), validate), signer);
  }

  /**
   * Ends the family of a refresh token (RFC 7009, 2.1). Every token of the family works, even a used one, because its
   * id proves that the caller had a token. A token of another integration has no effect. Throws `invalid_request` for
   * an access token, which cannot be revoked.
   */
  async revoke(provider: string, integration: string, token: string): Promise<void> {
    const family = parseRefreshToken(token)?.family;
    if (family === undefined && jwtPattern.test(token))
      throw invalidRequest('token', 'An access token cannot be revoked: it expires within ten minutes.');
    const stored = family && (await this.#families.get(family));
    if (family === undefined || !stored) return;
    const { identity } = stored;
    if (identity.provider === provider && identity.integration === integration) await this.#remove(family);
  }

  /** Removes expired refresh tokens and keys. */
  async sweep(signal: AbortSignal = new AbortController().signal): Promise<void> {
    const { now, keys } = this.#context;
    await this.#families.sweep((family) => isOver(family, now()), signal);
    await keys.sweep();
  }

  /** Removes expired codes, and erases the tokens of exchanges that can no longer be repeated. */
  async sweepCodes(): Promise<void> {
    const { engine, now } = this.#context;
    for await (const page of this.#codes.pages()) {
      const writes = page.flatMap((stored): Write[] => {
        const code = stored.value;
        if (isExpired(code, now())) return [this.#codes.deletion(stored)];
        const isLeft = code.exchange === undefined || isRepeatable(code, now());
        return isLeft ? [] : [this.#codes.replacement(stored, erased(code))];
      });
      await Promise.all(writes.map((write) => engine.commit([write])));
    }
  }

  /** Exchanges a code, or repeats its exchange. */
  async #exchange(sent: SentCode, validate: Validate, signer: Signer): Promise<GrantedTokens> {
    const { engine, now } = this.#context;
    const id = codeId(sent.code);
    for (;;) {
      const storedCode = await this.#codes.find(id);
      if (storedCode === undefined || isExpired(storedCode.value, now())) throw invalidCode();
      const code = storedCode.value;
      const begun = await this.#families.find(code.family);
      if (begun === undefined) throw invalidCode('signed out before the exchange, or used before');
      if (code.isUsed) return this.#repeated(code, begun.value, sent, validate);
      if (validate(begun.value) !== 'good' || !isFor(code, sent)) throw invalidCode();
      const { family, random } = withFirstToken(begun.value, now());
      const granted = await this.#granted({ familyId: code.family, family, random }, signer);
      const rejection = await engine.commit([
        this.#codes.replacement(storedCode, exchanged(code, granted, sent, now())),
        this.#families.replacement(begun, family),
      ]);
      if (rejection === undefined) return granted;
      // Another request has exchanged the code meanwhile, or the user has signed out: read again.
    }
  }

  /**
   * Returns the same tokens to the same app within `exchangeRepeatMsMax`. Any other replay ends the tokens (RFC 6749,
   * 4.1.2; RFC 9700, 2.1.1).
   */
  async #repeated(
    code: SignInCode,
    family: RefreshFamily,
    sent: SentCode,
    validate: Validate,
  ): Promise<GrantedTokens> {
    const now = this.#context.now();
    const isSame = isRepeatable(code, now) && validate(family) === 'good' && isFor(code, sent);
    const tokens = isSame ? openTokens(code, sent) : undefined;
    const first = tokens === undefined ? undefined : parseRefreshToken(tokens.refreshToken)?.random;
    // The app may have refreshed meanwhile. There is only one valid refresh token, so both callers get the same one.
    const random = first === undefined ? undefined : currentToken(family, first);
    if (tokens === undefined || random === undefined) {
      await this.#remove(code.family);
      throw invalidCode('a code was used twice: its tokens have ended');
    }
    const passedMs = Math.max(0, now - (code.exchange?.at ?? now));
    return {
      accessToken: tokens.accessToken,
      refreshToken: `${code.family}.${random}`,
      expiresInSeconds: Math.ceil((accessTokenMs - passedMs) / 1_000),
    };
  }

  async #granted({ familyId, family, random }: Redeemed, signer: Signer): Promise<GrantedTokens> {
    const { issuer, now } = this.#context;
    const { identity, audience } = family;
    const accessToken = await signAccessToken(signer, { identity, audience, issuer, now: now() });
    return { accessToken, refreshToken: `${familyId}.${random}`, expiresInSeconds: accessTokenMs / 1_000 };
  }

  async #redeemToken(token: string, validate: Validate): Promise<Redeemed> {
    const { engine, now } = this.#context;
    const parts = parseRefreshToken(token);
    if (parts === undefined) throw invalidToken();
    const { family: familyId, random } = parts;
    for (;;) {
      const stored = await this.#families.find(familyId);
      if (stored === undefined || isOver(stored.value, now())) throw invalidToken();
      const family = stored.value;
      const validity = validate(family);
      // The family is removed, so that the token stays invalid even if the address is registered again.
      if (validity === 'ended') await this.#remove(familyId);
      if (validity !== 'good') throw invalidToken();
      const outcome = refreshed(family, random, now());
      if (outcome.kind === 'repeated') return { familyId, family, random: outcome.random };
      if (outcome.kind === 'reused') {
        await this.#remove(familyId);
        throw invalidToken('a refresh token was used again: its family has ended');
      }
      const rejection = await engine.commit([this.#families.replacement(stored, outcome.family)]);
      if (rejection === undefined) return { familyId, family: outcome.family, random: outcome.random };
    }
  }

  /** Unconditional, because it does not matter if the family has changed or is already deleted. */
  async #remove(family: string): Promise<void> {
    await this.#context.engine.commit([{ kind: 'delete', space: this.#families.space, id: family }]);
  }
}
