import { hash } from 'node:crypto';
import type { Write } from '../../storage/engine.ts';
import type { KnownCaller } from '../permission.ts';

/** A working day. Nothing shortens it: an open page asks for news all the time, so that it is never idle. */
export const consoleSessionMsMax = 8 * 60 * 60 * 1_000;

export interface OfKey {
  readonly keyId: string;
  /** Of the key's secret that was exchanged: the session ends with it. */
  readonly keyHash: string;
}

export interface OfAdministrator {
  /** The id of the user. */
  readonly administrator: string;
  /** That of the administrator when the session began. */
  readonly grant: string;
  /** Names the sign-in, which is the session's only proof of who uses it: the session ends with it. */
  readonly signIn: string;
}

/** A session of the console, as stored in `service:console-sessions` under the digest of its secret. */
export type StoredConsoleSession = (OfKey | OfAdministrator) & {
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
};

export interface ConsoleSession {
  readonly caller: KnownCaller;
  /** What a page must send beside the cookie. Pages of other origins cannot read it. */
  readonly token: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

export interface OpenedConsoleSession extends ConsoleSession {
  /** The secret, which only the browser has. */
  readonly cookie: string;
}

/** A sign-in to the console at an identity provider that has neither ended nor expired. */
export interface SignedInPerson {
  /** The id of the user. */
  readonly user: string;
  /** The id of the registration of the integration that they have signed in with; it is approved. */
  readonly registration: string;
  /** As in the ID token. */
  readonly name?: string;
}

/** A sign-in that no session has used yet. */
export interface ProvenSignIn extends SignedInPerson {
  /** Names it in `SignIns`. */
  readonly id: string;
  /** The write that uses it up; rejected if it was used before, or has ended. @param until milliseconds since 1970 */
  use(until: number): Write;
}

/** The sign-ins that sessions of administrators depend on. */
export interface SignIns {
  /** Undefined if it has ended or expired. */
  find(id: string): Promise<SignedInPerson | undefined>;
  /** The write that ends it; rejected if it has ended. */
  end(id: string): Write;
}

/** Derived from the secret, which no page can read, in a way that the store does not show. */
export function deriveToken(cookie: string): string {
  return hash('sha256', `console token ${cookie}`, 'base64url');
}
