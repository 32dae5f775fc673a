import { addressesOf, type SignInContext } from './context.ts';
import { asRefusal } from './finish-sign-in.ts';
import type { BegunSignIn, SignInRequest } from './pending-sign-ins.ts';
import { isProviderName } from './providers.ts';
import { digestOf } from './random-text.ts';
import { SignInRefusal } from './refusal.ts';
import { returnAddress } from './return-to.ts';
import { isChallenge } from './tokens/sign-in-code.ts';

/** What a sign-in link says. */
export interface SignInLink {
  readonly provider: string;
  readonly name: string;
  readonly returnTo?: string | undefined;
  readonly codeChallenge?: string | undefined;
  readonly codeChallengeMethod?: string | undefined;
}

/**
 * Begins a sign-in: the integration is there, the address to return to is allowed, the provider is known; then the
 * browser may go. Nothing is written. Refuses with SignInRefusal, `provider_not_found`,
 * `integration_not_found` and `invalid_request`.
 *
 * @returns where the browser is sent, and what it must keep
 */
export async function beginSignIn(
  context: SignInContext,
  link: SignInLink,
): Promise<BegunSignIn & { readonly authorizationUrl: string }> {
  const integration = await context.integrations.findClient(link.provider, link.name);
  const { provider, name, clientId, returnUrls, registrationId } = integration;
  const home = `${context.origin}${context.prefix}/v3/auth/session`;
  const returnTo = returnAddress(link.returnTo, { origin: context.origin, returnUrls, home });
  const codeChallenge = appChallenge(context, link, returnTo.isOurs);

  const checks = context.pending.newChecks();
  const client = { ...integration, redirectUri: addressesOf(context, integration).redirectUri };
  const authorizationUrl = await context.providers[provider].begin(client, checks).catch(asRefusal);
  const order = {
    provider,
    integration: name,
    clientDigest: digestOf(clientId),
    ...(registrationId === undefined ? {} : { registrationId }),
    returnTo,
    ...(codeChallenge === undefined ? {} : { codeChallenge }),
  };
  const begun = context.pending.seal(order, checks);
  return { ...begun, authorizationUrl: authorizationUrl.href };
}

/** Required of an app on another origin, which is handed a code, and of nobody else. */
function appChallenge({ appTokens }: SignInContext, link: SignInLink, isOurs: boolean): string | undefined {
  const { codeChallenge, codeChallengeMethod } = link;
  if (isOurs) {
    if (codeChallenge === undefined && codeChallengeMethod === undefined) return undefined;
    throw new SignInRefusal('app_challenge', 'not asked for');
  }
  // Without tokens there is nothing that such an app could be handed.
  if (appTokens === undefined) throw new SignInRefusal('return_address', 'no app tokens');
  if (codeChallengeMethod === 'S256' && isChallenge(codeChallenge ?? '')) return codeChallenge;
  throw new SignInRefusal('app_challenge');
}

/**
 * Where a sign-in can be begun anew; undefined for a place that cannot be one of an integration.
 *
 * @param order what was begun, where that is known
 */
export function againUrl(
  context: SignInContext,
  { provider, name }: { readonly provider: string; readonly name: string },
  order?: SignInRequest,
): string | undefined {
  if (!isProviderName(provider) || !/^[a-z0-9-]+$/.test(name)) return undefined;
  const { signInUrl } = addressesOf(context, { provider, name });
  return order === undefined ? signInUrl : `${signInUrl}?${linkQuery(order, context.origin)}`;
}

function linkQuery({ returnTo: { url, isOurs }, codeChallenge }: SignInRequest, origin: string): string {
  const query = new URLSearchParams({ return_to: isOurs ? url.slice(origin.length) : url });
  if (codeChallenge !== undefined) {
    query.set('code_challenge', codeChallenge);
    query.set('code_challenge_method', 'S256');
  }
  return query.toString();
}
