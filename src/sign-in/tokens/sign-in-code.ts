import { hash, hkdfSync, timingSafeEqual } from 'node:crypto';
import { pkceChallenge } from '../../identity/provider.ts';
import { decrypt, encrypt } from '../../secrets/sealer.ts';
import { exchangeRepeatMsMax, signInCodeMs } from '../limits.ts';

/** The record of a one-time code in `service:sign-in-codes`, under its hash; the code itself is not stored. */
export interface SignInCode {
  /** The family that the code begins, in `service:refresh-families`. */
  readonly family: string;
  readonly returnUrl: string;
  /** RFC 7636, 4.2. */
  readonly codeChallenge: string;
  /** Milliseconds since 1970. */
  readonly issuedAt: number;
  /** The record stays until the code expires, so that a second use is distinct from an unknown code. */
  readonly isUsed?: true;
  /** The exchange. It can be repeated for `exchangeRepeatMsMax`; then it is erased. */
  readonly exchange?: {
    /** Milliseconds since 1970. */
    readonly at: number;
    /** The tokens, encrypted with what only their app has: the code and its verifier. */
    readonly sealedTokens: string;
  };
}

/** What an app sends to exchange a code. */
export interface SentCode {
  readonly code: string;
  readonly codeVerifier: string;
  readonly returnUrl: string;
}

/** The tokens that an exchange returned. */
export interface ExchangedTokens {
  readonly accessToken: string;
  readonly refreshToken: string;
}

const challengePattern = /^[A-Za-z0-9_-]{43}$/;
const verifierPattern = /^[A-Za-z0-9._~-]{43,128}$/;

/** 32 random bytes need no salt. */
export function codeId(code: string): string {
  return hash('sha256', code, 'base64url');
}

/** Whether a text is an S256 challenge: SHA-256 in base64url. `plain` is not supported. */
export function isChallenge(text: string): boolean {
  return challengePattern.test(text);
}

/** A clock that was set back does not extend the life of a code. */
export function isExpired({ issuedAt }: SignInCode, now: number): boolean {
  return now >= issuedAt + signInCodeMs || now < issuedAt - signInCodeMs;
}

/** Whether the sender of a code began its sign-in (RFC 7636, 4.6), for the same return URL. */
export function isFor(
  { codeChallenge, returnUrl }: SignInCode,
  sent: Pick<SentCode, 'codeVerifier' | 'returnUrl'>,
): boolean {
  if (!verifierPattern.test(sent.codeVerifier) || sent.returnUrl !== returnUrl) return false;
  const challenge = pkceChallenge(sent.codeVerifier);
  return timingSafeEqual(Buffer.from(challenge), Buffer.from(codeChallenge));
}

/**
 * Whether an exchange is so recent that an equal request may be a repetition. If the clock was set back, it is not
 * recent.
 */
export function isRepeatable({ exchange }: SignInCode, now: number): boolean {
  return exchange !== undefined && Math.abs(now - exchange.at) <= exchangeRepeatMsMax;
}

/** The record of a code after its exchange. */
export function exchanged(code: SignInCode, tokens: ExchangedTokens, sent: SentCode, at: number): SignInCode {
  const { accessToken, refreshToken } = tokens;
  const text = Buffer.from(JSON.stringify({ accessToken, refreshToken }));
  return {
    ...code,
    isUsed: true,
    exchange: { at, sealedTokens: encrypt(exchangeKey(sent), text, Buffer.from(codeId(sent.code))) },
  };
}

/**
 * The tokens of the exchange of a code; undefined if they are erased. Call `isFor` first, because another sender has
 * another key.
 */
export function openTokens({ exchange }: SignInCode, sent: SentCode): ExchangedTokens | undefined {
  if (exchange === undefined) return undefined;
  const text = decrypt(exchangeKey(sent), exchange.sealedTokens, Buffer.from(codeId(sent.code)));
  return JSON.parse(text.toString()) as ExchangedTokens;
}

/** The record without the tokens of the exchange. */
export function erased({ exchange: _exchange, ...code }: SignInCode): SignInCode {
  return code;
}

/** A key from the code and the verifier (RFC 5869). The store has neither of them. The key encrypts only once. */
function exchangeKey({ code, codeVerifier }: SentCode): Buffer {
  const secret = JSON.stringify([code, codeVerifier]);
  return Buffer.from(hkdfSync('sha256', secret, '', 'counterfoil exchange of a code', 32));
}
