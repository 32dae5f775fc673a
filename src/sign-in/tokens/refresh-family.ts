import { createHmac } from 'node:crypto';
import { digest, randomBytes } from '../../random.ts';
import type { Engine } from '../../storage/engine.ts';
import { Records } from '../../storage/records.ts';
import { refreshRepeatMsMax, refreshTokenIdleMsMax, refreshTokenMsMax, signInCodeMs } from '../limits.ts';
import { type Identity, userKey } from '../types.ts';

/**
 * The chain of refresh tokens that began with one code. Only the last token is valid (RFC 9700, 4.14.2). The family is
 * stored in `service:refresh-families` under `<user key>.<family id>`, so that the families of one user are adjacent.
 * It contains only hashes of tokens.
 */
export interface RefreshFamily {
  readonly identity: Identity;
  /** The `aud` of access tokens: the origin of the return URL. */
  readonly audience: string;
  /** The session at this service that began with the sign-in. */
  readonly sessionId: string;
  /** The return URL of the app, which must still be registered; absent in older families. */
  readonly returnUrl?: string;
  /** The id of the registration by which the user signed in. A later registration of the same name has another id. */
  readonly registrationId?: string;
  /** The id of the user's session at the provider, if the provider sent one. */
  readonly providerSession?: string;
  /** Milliseconds since 1970, like `rotatedAt`. */
  readonly createdAt: number;
  /** Absent until the code is exchanged. */
  readonly tokens?: {
    /** The hash of the valid token. */
    readonly current: string;
    /** The hash of the previous token, because the response with its successor may have been lost. */
    readonly previous?: string;
    /** The salt that derives the current token from the previous one. */
    readonly salt?: string;
    /** When the current token was made. */
    readonly rotatedAt: number;
  };
}

/** The refresh tokens of all apps. */
export function refreshFamilies(engine: Engine): Records<RefreshFamily> {
  return new Records(engine, 'refresh-families');
}

const tokenPattern = /^([A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{22})\.([A-Za-z0-9_-]{43})$/;

export function newFamilyId(identity: Identity): string {
  return `${userKey(identity)}.${randomBytes(16).toString('base64url')}`;
}

/** The origin of the app. A private-use URI scheme (RFC 8252, 7.1) has no origin, so the result is the scheme. */
export function tokenAudience(returnUrl: string): string {
  const { origin, protocol } = new URL(returnUrl);
  return origin === 'null' ? protocol : origin;
}

/** The family id and the random part of a refresh token; undefined if it is malformed. */
export function parseRefreshToken(
  token: string,
): { readonly family: string; readonly random: string } | undefined {
  const [, family, random] = tokenPattern.exec(token) ?? [];
  return family === undefined || random === undefined ? undefined : { family, random };
}

/** Adds the first token to a family. @returns the family, and the random part of the token */
export function withFirstToken(family: RefreshFamily, now: number) {
  const random = randomBytes(32).toString('base64url');
  return { random, family: { ...family, tokens: { current: digest(random), rotatedAt: now } } };
}

export type Refreshed =
  /** The token was valid; now its successor is. */
  | { readonly kind: 'rotated'; readonly family: RefreshFamily; readonly random: string }
  /**
   * The token was used within `refreshRepeatMsMax`, and its successor was not used: the result is the same successor.
   */
  | { readonly kind: 'repeated'; readonly random: string }
  /** The token was used earlier, so somebody has a copy, and the family must end. */
  | { readonly kind: 'reused' };

/**
 * Uses a token of a family. The successor is derived from the token and a random salt in the store. So a caller that
 * lost the response gets the same successor again, and two concurrent requests do not look like theft. Neither the
 * store nor a token alone reveals the successor.
 */
export function refreshed(family: RefreshFamily, random: string, now: number): Refreshed {
  const { tokens } = family;
  const used = digest(random);
  if (tokens?.current === used) {
    const salt = randomBytes(32).toString('base64url');
    const next = successor(random, salt);
    const rotated = { current: digest(next), previous: used, salt, rotatedAt: now };
    return { kind: 'rotated', family: { ...family, tokens: rotated }, random: next };
  }
  const isRepeat = tokens?.previous === used && Math.abs(now - tokens.rotatedAt) <= refreshRepeatMsMax;
  if (!isRepeat || tokens.salt === undefined) return { kind: 'reused' };
  return { kind: 'repeated', random: successor(random, tokens.salt) };
}

/**
 * The valid token of a family that began with the given token: the token itself, or its successor if the token was
 * used. Undefined if the successor was used too.
 */
export function currentToken({ tokens }: RefreshFamily, first: string): string | undefined {
  const used = digest(first);
  if (tokens?.current === used) return first;
  return tokens?.previous === used && tokens.salt !== undefined ? successor(first, tokens.salt) : undefined;
}

/** Whether the family has expired. Until its code is exchanged, it expires with the code. */
export function isOver({ createdAt, tokens }: RefreshFamily, now: number): boolean {
  if (tokens === undefined) return now >= createdAt + signInCodeMs;
  return now >= createdAt + refreshTokenMsMax || now >= tokens.rotatedAt + refreshTokenIdleMsMax;
}

function successor(random: string, salt: string): string {
  return createHmac('sha256', Buffer.from(salt, 'base64url')).update(random).digest('base64url');
}
