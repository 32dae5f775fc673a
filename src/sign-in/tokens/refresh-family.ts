import { createHmac, hash } from 'node:crypto';
import { randomBytes } from '../../random.ts';
import { type Identity, userKey } from '../identity.ts';
import { refreshRepeatMsMax, refreshTokenIdleMsMax, refreshTokenMsMax, signInCodeMs } from '../limits.ts';

/**
 * The refresh tokens that follow one another from one code, of which the last is good (RFC 9700, 4.14.2). It lies in
 * `service:refresh-families` under `<user key>.<family id>`, so that all of a user's lie together. Tokens are there by
 * their hashes alone.
 */
export interface RefreshFamily {
  readonly identity: Identity;
  /** Whom access tokens are for: the origin of the return URL. */
  readonly audience: string;
  /** The session at this service that the sign-in began. */
  readonly sessionId: string;
  /** Where the app is, which must still be registered; absent in families of before it was kept. */
  readonly returnUrl?: string;
  /** The registration by which the user signed in: another one of its name is another one. */
  readonly registrationId?: string;
  /** The id of the user's session at the provider, where it told one. */
  readonly providerSession?: string;
  /** Milliseconds since 1970, as all moments here. */
  readonly createdAt: number;
  /** Absent until the code is exchanged. */
  readonly tokens?: {
    /** Hash of the token that is good. */
    readonly current: string;
    /** Hash of the one before, whose answer may have been lost. */
    readonly previous?: string;
    /** What the current token was made with, from the one before. */
    readonly salt?: string;
    /** When the current one was made. */
    readonly rotatedAt: number;
  };
}

export const refreshFamiliesSpace = 'service:refresh-families';
const tokenPattern = /^([A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{22})\.([A-Za-z0-9_-]{43})$/;

export function newFamilyId(identity: Identity): string {
  return `${userKey(identity)}.${randomBytes(16).toString('base64url')}`;
}

/** A family's id and the random part of a refresh token, or undefined for what is none. */
export function partsOf(token: string): { readonly family: string; readonly random: string } | undefined {
  const [, family, random] = tokenPattern.exec(token) ?? [];
  return family === undefined || random === undefined ? undefined : { family, random };
}

/** The family with its first token. @returns the random part of the token beside it */
export function withFirstToken(family: RefreshFamily, now: number) {
  const random = randomBytes(32).toString('base64url');
  return { random, family: { ...family, tokens: { current: digest(random), rotatedAt: now } } };
}

export type Refreshed =
  /** The token was the last one, and this one is now. */
  | { readonly kind: 'rotated'; readonly family: RefreshFamily; readonly random: string }
  /** The token was used a moment ago, and its successor never: the same successor again. */
  | { readonly kind: 'repeated'; readonly random: string }
  /** The token was used before: somebody has a copy, and the family must end. */
  | { readonly kind: 'reused' };

/**
 * What becomes of a family when a token of it is used. The successor follows from the token and a random salt in the
 * store, so that whoever has lost the answer gets the very same one: of two at once, neither is taken for a thief.
 * Neither the store alone nor a token alone tells it.
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

/** Whether its time is over; one whose code was never exchanged lives as long as the code. */
export function isOver({ createdAt, tokens }: RefreshFamily, now: number): boolean {
  if (tokens === undefined) return now >= createdAt + signInCodeMs;
  return now >= createdAt + refreshTokenMsMax || now >= tokens.rotatedAt + refreshTokenIdleMsMax;
}

function successor(random: string, salt: string): string {
  return createHmac('sha256', Buffer.from(salt, 'base64url')).update(random).digest('base64url');
}

function digest(random: string): string {
  return hash('sha256', random, 'base64url');
}
