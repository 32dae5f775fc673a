import { webOrigin } from '../addresses.ts';
import { defined } from '../defined.ts';
import { ServiceError } from '../errors.ts';
import { digest } from '../random.ts';
import { integrationUrls, type SignInContext } from './context.ts';
import { asSignInError } from './finish-sign-in.ts';
import { returnUrlCharactersMax } from './limits.ts';
import { SignInError } from './sign-in-error.ts';
import { isChallenge } from './tokens/sign-in-code.ts';
import { type BegunSignIn, isProviderName, type SignInRequest } from './types.ts';

/** The parameters of a sign-in link. */
export interface SignInLink {
  readonly provider: string;
  readonly name: string;
  readonly returnTo?: string | undefined;
  readonly codeChallenge?: string | undefined;
  readonly codeChallengeMethod?: string | undefined;
  /** The app receives it unchanged, together with the code. */
  readonly state?: string | undefined;
  /** Whether the page of the console begins the sign-in. No link can do this. */
  readonly isForConsole?: true;
}

/**
 * Begins a sign-in. Checks that the integration exists, that the address to return to is allowed, and that the metadata of
 * the provider is available. Nothing is written. Throws SignInError, `provider_not_found`, `integration_not_found`,
 * `invalid_request`, and `forbidden` for a sign-in to the console with an integration that is not approved for it.
 *
 * @returns the address to send the browser to, and the cookie that it must store
 */
export async function beginSignIn(
  context: SignInContext,
  link: SignInLink,
): Promise<BegunSignIn & { readonly authorizationUrl: string }> {
  const integration = await context.integrations.findClient(link.provider, link.name);
  const { provider, name, clientId, returnUrls, registrationId } = integration;
  if (link.isForConsole && integration.consoleApproval === undefined) throw notApproved;
  const home = `${context.origin}${context.prefix}/v3/auth/session`;
  const returnTo = returnAddress(link.returnTo, { origin: context.origin, returnUrls, home });
  const codeChallenge = appChallenge(link, returnTo.isOurs);

  const checks = context.pending.newChecks();
  const client = { ...integration, redirectUri: integrationUrls(context, integration).redirectUri };
  const authorizationUrl = await context.providers[provider].begin(client, checks).catch(asSignInError);
  const request = {
    provider,
    integration: name,
    clientDigest: digest(clientId),
    ...defined({ registrationId }),
    returnTo,
    ...defined({ codeChallenge, appState: link.state, isForConsole: link.isForConsole }),
  };
  const begun = context.pending.seal(request, checks);
  return { ...begun, authorizationUrl: authorizationUrl.href };
}

const notApproved = new ServiceError('forbidden', {
  param: 'name',
  message:
    'The console accepts only integrations that an administrator has approved; this is not one of them.',
});

/**
 * An app on another origin receives a code, so its link must have a challenge. A link to our own origin must have
 * neither a challenge nor a state.
 */
function appChallenge(link: SignInLink, isOurs: boolean): string | undefined {
  const { codeChallenge, codeChallengeMethod, state } = link;
  if (isOurs) {
    if (codeChallenge === undefined && codeChallengeMethod === undefined && state === undefined)
      return undefined;
    throw new SignInError('app_challenge', 'not expected');
  }
  if (codeChallengeMethod === 'S256' && isChallenge(codeChallenge ?? '')) return codeChallenge;
  throw new SignInError('app_challenge');
}

/**
 * The address at which a sign-in starts again; undefined for names that no integration can have.
 *
 * @param request the sign-in that was begun, if it is known
 */
export function againUrl(
  context: SignInContext,
  { provider, name }: { readonly provider: string; readonly name: string },
  request?: SignInRequest,
): string | undefined {
  if (!isProviderName(provider) || !/^[a-z0-9-]+$/.test(name)) return undefined;
  // A sign-in to the console begins on its page, never by a link.
  if (request?.isForConsole) return `${context.origin}/console`;
  const { signInUrl } = integrationUrls(context, { provider, name });
  return request === undefined ? signInUrl : `${signInUrl}?${linkQuery(request, context.origin)}`;
}

function linkQuery(
  { returnTo: { url, isOurs }, codeChallenge, appState }: SignInRequest,
  origin: string,
): string {
  const query = new URLSearchParams({ return_to: isOurs ? url.slice(origin.length) : url });
  if (codeChallenge !== undefined) {
    query.set('code_challenge', codeChallenge);
    query.set('code_challenge_method', 'S256');
  }
  if (appState !== undefined) query.set('state', appState);
  return query.toString();
}

/** The address to which the browser goes after the sign-in. */
export interface ReturnAddress {
  /** Absolute, so that all browsers resolve it in the same way. */
  readonly url: string;
  /** Whether the address is on our own origin, which has the session cookie. */
  readonly isOurs: boolean;
}

/**
 * The address that a link wants to return to: a path on our own origin, or exactly one of the registered return URLs
 * (OWASP, Unvalidated Redirects and Forwards; RFC 9700, 4.11). Throws SignInError with the reason `return_address`.
 *
 * @param requested undefined if the link has none
 * @param origin our own public origin
 */
export function returnAddress(
  requested: string | undefined,
  { origin, returnUrls, home }: { origin: string; returnUrls: readonly string[]; home: string },
): ReturnAddress {
  if (requested === undefined) return { url: home, isOurs: true };
  if (returnUrls.includes(requested))
    return { url: requested, isOurs: webOrigin(new URL(requested)) === origin };
  const url = pathOnOrigin(requested, origin);
  if (url === undefined) throw new SignInError('return_address');
  return { url, isOurs: true };
}

/** Visible ASCII after exactly one slash. Browsers read a backslash as a slash, and drop tabs and line ends. */
const plainPath = /^\/(?!\/)[\x21-\x5b\x5d-\x7e]*$/;

function pathOnOrigin(text: string, origin: string): string | undefined {
  if (text.length > returnUrlCharactersMax || !plainPath.test(text) || !URL.canParse(text, origin))
    return undefined;
  const url = new URL(text, origin);
  // Percent-encoding may have made the address longer.
  if (url.href.length - origin.length > returnUrlCharactersMax) return undefined;
  // Resolving dot segments can leave two slashes at the front.
  return webOrigin(url) === origin && !url.pathname.startsWith('//') ? url.href : undefined;
}
