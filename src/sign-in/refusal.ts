import { type ErrorCode, ServiceError } from '../errors.ts';

interface RefusalKind {
  readonly code: ErrorCode;
  /** The heading of the page. */
  readonly title: string;
  /** What happened, and what to do. */
  readonly text: string;
}

/**
 * All that a person who signs in can be told, in words of our own: nothing that was sent is repeated. Sorted by the
 * step that refuses.
 */
const kinds = {
  return_address: {
    code: 'invalid_request',
    title: 'This sign-in link is not complete',
    text: 'The address to return to after signing in is not one that is allowed here. Go back to the app and tell its makers.',
  },
  app_challenge: {
    code: 'invalid_request',
    title: 'This sign-in link is not complete',
    text: 'An app on another address must send a code challenge of the method S256. Go back to the app and tell its makers.',
  },
  callback: {
    code: 'invalid_request',
    title: 'This is not an answer to a sign-in',
    text: 'The address in your browser does not belong to a sign-in that was begun here. Start again.',
  },
  unknown_state: {
    code: 'invalid_request',
    title: 'This sign-in is over',
    text: 'It was already used, or it took longer than ten minutes. Start again.',
  },
  other_browser: {
    code: 'invalid_request',
    title: 'This sign-in was begun in another browser',
    text: 'Somebody else may have sent you this address. If you began to sign in here, allow cookies and start again.',
  },
  other_provider: {
    code: 'invalid_request',
    title: 'Another provider answered',
    text: 'The answer does not come from the provider that you were sent to. You are not signed in. Start again.',
  },
  denied: {
    code: 'forbidden',
    title: 'You are not signed in',
    text: 'The provider did not let you in, or you chose not to go on. You can start again.',
  },
  refused: {
    code: 'identity_provider_error',
    title: 'The provider refused this sign-in',
    text: 'You are not signed in. Start again; if it happens once more, tell the makers of the app.',
  },
  untrusted: {
    code: 'identity_provider_error',
    title: 'The answer of the provider cannot be trusted',
    text: 'You are not signed in, because the answer did not pass its checks. Start again later.',
  },
  unreachable: {
    code: 'identity_provider_error',
    title: 'The provider does not answer',
    text: 'You are not signed in, because the provider could not be reached in time. Start again in a moment.',
  },
} as const satisfies Record<string, RefusalKind>;

export type SignInRefusalReason = keyof typeof kinds;

/** A sign-in that ends without a session; told on a page. */
export class SignInRefusal extends ServiceError {
  readonly reason: SignInRefusalReason;
  readonly title: string;

  /** @param detail for the log alone */
  constructor(reason: SignInRefusalReason, detail?: string, cause?: unknown) {
    const { code, title, text } = kinds[reason];
    super(code, { message: text, detail: detail === undefined ? reason : `${reason}: ${detail}`, cause });
    this.name = 'SignInRefusal';
    this.reason = reason;
    this.title = title;
  }
}
