import { type Asked, audited } from '../access/audit.ts';
import { ProviderFailure } from '../identity/provider.ts';
import { addressesOf, type SignInContext } from './context.ts';
import { currentSession } from './current-session.ts';
import { type Identity, userKey } from './identity.ts';
import { callbackCharactersMax } from './limits.ts';
import type { SignInRequest } from './pending-sign-ins.ts';
import { digestOf } from './random-text.ts';
import { SignInRefusal } from './refusal.ts';
import type { OpenedSession } from './sessions.ts';
import { signOut } from './sign-out.ts';
import type { AppRequest } from './tokens/app-tokens.ts';

/** A callback as a browser brought it. */
export interface Callback {
  readonly provider: string;
  readonly name: string;
  readonly parameters: URLSearchParams;
  /** The browser's cookie of a sign-in; undefined where it has none, or more than one. */
  readonly cookieOf: (cookieSuffix: string) => string | undefined;
  /** That of its session. */
  readonly sessionCookie: string | undefined;
  readonly requestId: string;
  /** Told as soon as it is known what was begun, so that a refusal can lead back to its beginning. */
  readonly onFound: (order: SignInRequest) => void;
}

export interface FinishedSignIn extends OpenedSession {
  /** Where the browser goes. */
  readonly location: string;
}

/** Each at most once (RFC 6749, 3.1): which of two is meant, two readers decide in two ways. */
const singleParameters = [
  'state',
  'code',
  'iss',
  'error',
  'error_description',
  'response',
  'id_token',
  'token',
];

/**
 * Finishes a sign-in, one refusal for each step: one state; begun in this browser, by this integration, lately, and not
 * finished yet; what the provider proves (`IdentityProvider.finish`); a new session. Refuses with SignInRefusal,
 * `provider_not_found`, `integration_not_found`.
 *
 * @returns undefined when it was finished before and somebody is signed in in this browser: they went back
 */
export async function finishSignIn(
  context: SignInContext,
  callback: Callback,
): Promise<FinishedSignIn | undefined> {
  const { provider, name, parameters } = callback;
  const client = await context.integrations.findClient(provider, name);
  const state = stateOf(parameters);
  if (await isBack(context, state, callback.sessionCookie)) return undefined;
  const { order, checks } = context.pending.read(state, callback.cookieOf);
  callback.onFound(order);
  await context.pending.use(state);
  // An answer that comes to another integration's address than the one the browser was sent from (RFC 9700, 4.4).
  if (order.provider !== client.provider || order.integration !== client.name) {
    throw new SignInRefusal('other_provider', 'integration');
  }
  const isSameClient =
    order.clientDigest === digestOf(client.clientId) && order.registrationId === client.registrationId;
  if (!isSameClient) throw new SignInRefusal('other_provider', 'client');

  const proven = await context.providers[client.provider]
    .finish({ ...client, redirectUri: addressesOf(context, client).redirectUri }, parameters, checks)
    .catch(asRefusal);
  const { providerSession, ...profile } = proven;
  const identity = { ...profile, provider: client.provider, integration: client.name };
  const user = userKey(identity);
  const app = await appRequestOf(context, order);
  const asked = { by: 'user', requestId: callback.requestId } as const;
  await endSessionOfOther(context, identity, callback.sessionCookie, asked);
  let code: string | undefined;
  const opened = await context.sessions.begin(
    {
      identity,
      cookieBefore: callback.sessionCookie,
      ...(client.registrationId === undefined ? {} : { registrationId: client.registrationId }),
      ...(providerSession === undefined ? {} : { providerSession }),
      stateDigest: digestOf(state),
    },
    async (session) => {
      const issued = app === undefined ? undefined : context.appTokens?.newCode(session, app);
      code = issued?.code;
      const act = audited({ what: 'user.signed_in', on: user, ...asked }, context.now());
      return [await context.users.signedIn(identity), act, ...(issued?.writes ?? [])];
    },
  );
  await context.accessEnding.trim(user);
  return { ...opened, location: locationOf(order.returnTo.url, code) };
}

/** Whether this browser is signed in by the sign-in of this state. */
async function isBack(context: SignInContext, state: string, cookie: string | undefined): Promise<boolean> {
  return (await currentSession(context, cookie))?.stateDigest === digestOf(state);
}

/** Another user's session in this browser ends before the new one begins, and with it its tokens. */
async function endSessionOfOther(
  context: SignInContext,
  identity: Identity,
  cookie: string | undefined,
  asked: Asked,
): Promise<void> {
  const session = cookie === undefined ? undefined : await context.sessions.find(cookie);
  if (session === undefined || userKey(session.identity) === userKey(identity)) return;
  await signOut(context, { session, isEverywhere: false, asked });
}

function stateOf(parameters: URLSearchParams): string {
  const isTwice = singleParameters.some((name) => parameters.getAll(name).length > 1);
  const state = parameters.get('state');
  if (isTwice || state === null || parameters.toString().length > callbackCharactersMax) {
    throw new SignInRefusal('callback');
  }
  return state;
}

/** What an app on another origin is to get; undefined where the browser stays on ours. */
async function appRequestOf(
  { appTokens, integrations }: SignInContext,
  order: SignInRequest,
): Promise<AppRequest | undefined> {
  const { returnTo, codeChallenge } = order;
  if (returnTo.isOurs) return undefined;
  if (appTokens === undefined || codeChallenge === undefined) throw new SignInRefusal('return_address');
  // It may have been registered anew since the sign-in began, or without this address.
  const registration = await integrations.findRegistration(order.provider, order.integration);
  if (registration?.id !== order.registrationId || !registration?.returnUrls.includes(returnTo.url))
    throw new SignInRefusal('return_address', 'no longer registered');
  return { returnUrl: returnTo.url, codeChallenge };
}

/** The registered address stays as it is, to the character. */
function locationOf(url: string, code: string | undefined): string {
  if (code === undefined) return url;
  return `${url}${url.includes('?') ? '&' : '?'}code=${encodeURIComponent(code)}`;
}

/** Throws the refusal that a failure of the provider is. */
export function asRefusal(error: unknown): never {
  if (error instanceof ProviderFailure) throw new SignInRefusal(error.reason, error.detail, error);
  throw error;
}
