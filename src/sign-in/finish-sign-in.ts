import { audited, type Requester } from '../audit/audit.ts';
import { defined } from '../defined.ts';
import { ServiceError } from '../errors.ts';
import { type Checks, type ProvenIdentity, ProviderFailure } from '../identity/provider.ts';
import { digest } from '../random.ts';
import { currentSession, signOut } from './browser-session.ts';
import { type AppRequest, integrationUrls, type SignInContext } from './context.ts';
import type { IntegrationClient } from './integrations.ts';
import { callbackCharactersMax } from './limits.ts';
import type { NewSession, OpenedSession } from './sessions.ts';
import { SignInError } from './sign-in-error.ts';
import { type Identity, type SignInRequest, userKey } from './types.ts';

/** A callback request. */
export interface Callback {
  readonly provider: string;
  readonly name: string;
  readonly parameters: URLSearchParams;
  /** The cookie of a sign-in; undefined if the browser sent none, or more than one. */
  readonly cookieOf: (cookieSuffix: string) => string | undefined;
  readonly sessionCookie: string | undefined;
  readonly requestId: string;
  /** Called as soon as the sign-in is known, so that an error page can link to the start of this sign-in. */
  readonly onFound: (request: SignInRequest) => void;
}

export interface FinishedSignIn extends OpenedSession {
  /** Whether the secret is a proof for the console instead of a session of the app. */
  readonly isForConsole: boolean;
  /** The address to send the browser to. */
  readonly location: string;
}

/** Each parameter is allowed at most once (RFC 6749, 3.1), because parsers differ in which of two they use. */
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
 * Finishes a sign-in. Checks that the callback has one state. Checks that the sign-in began recently, in this browser
 * and by this integration, and that it is not finished yet. Then the provider proves the identity
 * (`IdentityProvider.finish`), and a new session begins. Throws SignInError with a reason for each step,
 * `provider_not_found` and `integration_not_found`.
 *
 * A sign-in to the console does not change the session of the app in this browser. It makes a proof that is valid for
 * `consoleProofMs`, and only for an administrator. For other people, nothing is written.
 *
 * @returns undefined if this browser is already signed in by this sign-in, because the user went back
 */
export async function finishSignIn(
  context: SignInContext,
  callback: Callback,
): Promise<FinishedSignIn | undefined> {
  const { provider, name, parameters } = callback;
  const client = await context.integrations.findClient(provider, name);
  const state = requireState(parameters);
  if (await isBack(context, state, callback.sessionCookie)) return undefined;
  const { request, checks, begunAt } = context.pending.read(state, callback.cookieOf);
  callback.onFound(request);
  // The state is used up before the exchange, because only one of several concurrent callers may spend the code.
  await context.pending.use(state);
  const { providerSession, ...profile } = await prove(context, client, request, parameters, checks);
  const identity = { ...profile, provider: client.provider, integration: client.name };
  const user = userKey(identity);
  const { recent } = context.accessEnding;
  const proven = {
    identity,
    createdAt: context.now(),
    ...defined({ providerSession }),
  };
  // Checked before the session of another user ends for this sign-in.
  await recent.checks(proven, begunAt);
  await findAppRequest(context, request);
  const requester = { by: 'user', requestId: callback.requestId } as const;
  const isForConsole = request.isForConsole === true;
  const admitted = isForConsole
    ? await context.console.admit(client, identity)
    : await admitToApp(context, identity, callback.sessionCookie, requester);
  let code: string | undefined;
  const opened = await context.sessions.begin(
    {
      identity,
      ...admitted,
      ...defined({ registrationId: client.registrationId, providerSession }),
      stateDigest: digest(state),
    },
    async (session) => {
      // Checked again for each commit, because the integration or the address may have been removed meanwhile.
      const unended = await recent.checks(session, begunAt);
      const app = await findAppRequest(context, request);
      const issued = app === undefined ? undefined : context.appTokens.newCode(session, app);
      code = issued?.code;
      const act = audited({ what: 'user.signed_in', on: user, ...requester }, context.now());
      return [await context.users.signedIn(identity), act, ...(issued?.writes ?? []), ...unended];
    },
  );
  if (!opened.isRenewed || code !== undefined) await context.accessEnding.trim(user);
  return { ...opened, isForConsole, location: returnLocation(request, code) };
}

/** Exchanges the code if the response belongs to the integration and the client with which the sign-in began. */
async function prove(
  context: SignInContext,
  client: IntegrationClient,
  request: SignInRequest,
  parameters: URLSearchParams,
  checks: Checks,
): Promise<ProvenIdentity> {
  // The response arrived at the address of another integration (mix-up attack: RFC 9700, 4.4).
  if (request.provider !== client.provider || request.integration !== client.name)
    throw new SignInError('other_provider', 'integration');
  const isSameClient =
    request.clientDigest === digest(client.clientId) && request.registrationId === client.registrationId;
  if (!isSameClient) throw new SignInError('other_provider', 'client');
  const { redirectUri } = integrationUrls(context, client);
  return context.providers[client.provider]
    .finish({ ...client, redirectUri }, parameters, checks)
    .catch(asSignInError);
}

/** Whether this browser is already signed in by the sign-in with this state. */
async function isBack(context: SignInContext, state: string, cookie: string | undefined): Promise<boolean> {
  const session = cookie === undefined ? undefined : await context.sessions.find(cookie);
  if (session?.stateDigest !== digest(state)) return false;
  return (await currentSession(context, cookie)) !== undefined;
}

/**
 * Ends the session of another user in this browser, with its tokens. A session of the same user is replaced instead.
 */
async function admitToApp(
  context: SignInContext,
  identity: Identity,
  cookie: string | undefined,
  requester: Requester,
): Promise<Pick<NewSession, 'cookieBefore'>> {
  const session = cookie === undefined ? undefined : await context.sessions.find(cookie);
  if (session !== undefined && userKey(session.identity) !== userKey(identity))
    await signOut(context, { session, isEverywhere: false, requester });
  return { cookieBefore: cookie };
}

function requireState(parameters: URLSearchParams): string {
  const isTwice = singleParameters.some((name) => parameters.getAll(name).length > 1);
  const state = parameters.get('state');
  if (isTwice || state === null || parameters.toString().length > callbackCharactersMax) {
    throw new SignInError('callback');
  }
  return state;
}

/**
 * The code request of an app on another origin; undefined if the browser returns to our own. Throws if the integration,
 * its registration or the return address was removed since the sign-in began.
 */
async function findAppRequest(
  { integrations }: SignInContext,
  request: SignInRequest,
): Promise<AppRequest | undefined> {
  const { returnTo, codeChallenge } = request;
  const registration = await integrations.findRegistration(request.provider, request.integration);
  if (registration === undefined)
    throw new ServiceError('integration_not_found', { param: 'INTEGRATION_NAME' });
  if (registration.id !== request.registrationId) throw new SignInError('other_provider', 'client');
  if (returnTo.isOurs) return undefined;
  if (codeChallenge === undefined || !registration.returnUrls.includes(returnTo.url))
    throw new SignInError('return_address', 'no longer registered');
  return { returnUrl: returnTo.url, codeChallenge };
}

/** Appends the code and the app's state, without normalizing the registered address. */
function returnLocation({ returnTo: { url }, appState }: SignInRequest, code: string | undefined): string {
  if (code === undefined) return url;
  const state = appState === undefined ? '' : `&state=${encodeURIComponent(appState)}`;
  return `${url}${url.includes('?') ? '&' : '?'}code=${encodeURIComponent(code)}${state}`;
}

/** Converts a ProviderFailure into a SignInError, and throws it. */
export function asSignInError(error: unknown): never {
  if (error instanceof ProviderFailure) throw new SignInError(error.reason, error.detail, error);
  throw error;
}
