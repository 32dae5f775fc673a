import { type ErrorCode, ServiceError } from '../errors.ts';
import type { Identity } from './types.ts';

interface SignInErrorKind {
  readonly code: ErrorCode;
  /** The heading of the page. */
  readonly title: string;
  /** What happened, and what to do. */
  readonly text: string;
}

/**
 * The texts of the error pages of a sign-in, by step. They are fixed, so no page repeats a value that was sent. Only
 * one page shows values: issuer and subject, which the provider has proven.
 */
const kinds = {
  return_address: {
    code: 'invalid_request',
    title: 'This sign-in link is not complete',
    text: 'The address to return to after signing in is not allowed. Go back to the app and contact its developers.',
  },
  app_challenge: {
    code: 'invalid_request',
    title: 'This sign-in link is not complete',
    text: 'An app on another address must send an S256 code challenge. Go back to the app and contact its developers.',
  },
  callback: {
    code: 'invalid_request',
    title: 'This is not a response to a sign-in',
    text: 'The address in your browser does not belong to a sign-in that was started here. Start again.',
  },
  unknown_state: {
    code: 'invalid_request',
    title: 'This sign-in is over',
    text: 'It was already used, or it took longer than ten minutes. Start again.',
  },
  ended: {
    code: 'invalid_request',
    title: 'You were signed out meanwhile',
    text: 'While this sign-in was under way, you were signed out everywhere, at the provider or by an operator. Start again.',
  },
  other_browser: {
    code: 'invalid_request',
    title: 'This sign-in was started in another browser',
    text: 'Somebody else may have sent you this address. If you started it here, allow cookies and start again.',
  },
  other_provider: {
    code: 'invalid_request',
    title: 'Another provider responded',
    text: 'The response does not come from the provider that you were sent to. You are not signed in. Start again.',
  },
  denied: {
    code: 'forbidden',
    title: 'You are not signed in',
    text: 'The provider did not let you in, or you chose not to go on. You can start again.',
  },
  not_administrator: {
    code: 'forbidden',
    title: 'You are not an administrator',
    text: 'The provider has confirmed who you are, but you may not use the console of this service. An administrator can add you by these values.',
  },
  not_approved: {
    code: 'forbidden',
    title: 'This integration is not approved',
    text: 'The console accepts only integrations that an administrator has approved. You are not signed in.',
  },
  rejected: {
    code: 'identity_provider_error',
    title: 'The provider rejected this sign-in',
    text: 'You are not signed in. Start again; if it happens again, contact the developers of the app.',
  },
  untrusted: {
    code: 'identity_provider_error',
    title: 'The response of the provider cannot be trusted',
    text: 'You are not signed in, because the response did not pass its checks. Start again later.',
  },
  unreachable: {
    code: 'identity_provider_error',
    title: 'The provider does not respond',
    text: 'You are not signed in, because the provider could not be reached in time. Start again in a few seconds.',
  },
} as const satisfies Record<string, SignInErrorKind>;

export type SignInErrorReason = keyof typeof kinds;

/** A sign-in that ends without a session. The browser gets an error page. */
export class SignInError extends ServiceError {
  readonly reason: SignInErrorReason;
  readonly title: string;

  /** @param detail only for the log */
  constructor(reason: SignInErrorReason, detail?: string, cause?: unknown) {
    const { code, title, text } = kinds[reason];
    super(code, { message: text, detail: detail === undefined ? reason : `${reason}: ${detail}`, cause });
    this.name = 'SignInError';
    this.reason = reason;
    this.title = title;
  }
}

/**
 * The sign-in to the console of a person who is not an administrator. The page shows who they are, so that an
 * administrator can be added.
 */
export class NotAdministrator extends SignInError {
  readonly identity: Identity;

  constructor(identity: Identity) {
    super('not_administrator');
    this.identity = identity;
  }
}
