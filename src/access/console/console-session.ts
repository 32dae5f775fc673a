import { hash } from 'node:crypto';
import type { Write } from '../../storage/engine.ts';
import type { KnownCaller } from '../permission.ts';

/** A working day. There is no idle time-out, because an open page sends requests all the time. */
export const consoleSessionMsMax = 8 * 60 * 60 * 1_000;

export interface OfKey {
  readonly keyId: string;
  /** The hash of the key's secret that was exchanged. The session ends with this secret. */
  readonly keyHash: string;
}

export interface OfAdministrator {
  /** The id of the user. */
  readonly administrator: string;
  /** The administrator's `grant` when the session began. */
  readonly grant: string;
  /** The id of the sign-in. It is the only proof of who uses the session, so the session ends with it. */
  readonly signIn: string;
}

/** A session of the console, as stored in `service:console-sessions` under the digest of its secret. */
export type StoredConsoleSession = (OfKey | OfAdministrator) & {
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
};

export interface ConsoleSession {
  readonly caller: KnownCaller;
  /** The token that a page must send with the cookie. Pages of other origins cannot read it. */
  readonly token: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

export interface OpenedConsoleSession extends ConsoleSession {
  /** The secret, which only the browser has. */
  readonly cookie: string;
}

/** A sign-in to the console by an identity provider. It has neither ended nor expired. */
export interface SignedInPerson {
  /** The id of the user. */
  readonly user: string;
  /** The id of the registration by which the person has signed in. It is approved. */
  readonly registration: string;
  /** As in the ID token. */
  readonly name?: string;
}

/** A sign-in that no session of the console has used yet. */
export interface ProvenSignIn extends SignedInPerson {
  /** The id in `SignIns`. */
  readonly id: string;
  /**
   * The write that marks the sign-in as used. The engine rejects it if the sign-in was used before or has ended.
   *
   * @param until milliseconds since 1970
   */
  use(until: number): Write;
}

/** The sign-ins that sessions of administrators depend on. */
export interface SignIns {
  /** Undefined if the sign-in has ended or expired. */
  find(id: string): Promise<SignedInPerson | undefined>;
  /** The write that ends the sign-in. The engine rejects it if the sign-in has ended. */
  end(id: string): Write;
}

/** Derives the token from the secret, which no page can read. The store does not reveal it either. */
export function deriveToken(cookie: string): string {
  return hash('sha256', `console token ${cookie}`, 'base64url');
}
