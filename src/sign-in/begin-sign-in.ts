import { asRefusal } from './finish-sign-in.ts';
import { addressesOf, type SignInParts } from './parts.ts';
import type { BegunSignIn } from './pending-sign-ins.ts';
import { isProviderName } from './providers.ts';
import { SignInRefusal } from './refusal.ts';
import { returnAddress } from './return-to.ts';

/** What a sign-in link says. */
export interface SignInLink {
  readonly provider: string;
  readonly name: string;
  readonly returnTo?: string | undefined;
  readonly codeChallenge?: string | undefined;
  readonly codeChallengeMethod?: string | undefined;
  /** As it came, for a link to try again. */
  readonly query: string;
}

/** RFC 7636, 4.2: base64url of a SHA-256. */
const challengePattern = /^[A-Za-z0-9_-]{43}$/;

/**
 * Begins a sign-in: the integration is there, the address to return to is allowed, the provider is known, what was
 * begun is on disk; then the browser may go. Refuses with SignInRefusal, `provider_not_found`,
 * `integration_not_found` and `invalid_request`.
 *
 * @returns where the browser is sent, and what it must keep
 */
export async function beginSignIn(
  parts: SignInParts,
  link: SignInLink,
): Promise<BegunSignIn & { readonly authorizationUrl: string }> {
  const integration = await parts.integrations.findClient(link.provider, link.name);
  const { provider, name, clientId, returnUrls, registrationId } = integration;
  const home = `${parts.origin}${parts.prefix}/v3/auth/session`;
  const returnTo = returnAddress(link.returnTo, { origin: parts.origin, returnUrls, home });
  const codeChallenge = appChallenge(parts, link, returnTo.isOurs);

  const checks = parts.pending.newChecks();
  const client = { ...integration, redirectUri: addressesOf(parts, integration).redirectUri };
  const authorizationUrl = await parts.providers[provider].begin(client, checks).catch(asRefusal);
  const order = {
    provider,
    integration: name,
    clientId,
    ...(registrationId === undefined ? {} : { registrationId }),
    returnTo,
    query: link.query,
  };
  const begun = await parts.pending.keep(
    codeChallenge === undefined ? order : { ...order, codeChallenge },
    checks,
  );
  return { ...begun, authorizationUrl: authorizationUrl.href };
}

/** Required of an app on another origin, which is handed a code, and of nobody else. */
function appChallenge({ appTokens }: SignInParts, link: SignInLink, isOurs: boolean): string | undefined {
  const { codeChallenge, codeChallengeMethod } = link;
  if (isOurs) {
    if (codeChallenge === undefined && codeChallengeMethod === undefined) return undefined;
    throw new SignInRefusal('app_challenge', 'not asked for');
  }
  // Without tokens there is nothing that such an app could be handed.
  if (appTokens === undefined) throw new SignInRefusal('return_address', 'no app tokens');
  if (codeChallengeMethod === 'S256' && challengePattern.test(codeChallenge ?? '')) return codeChallenge;
  throw new SignInRefusal('app_challenge');
}

/** Where a sign-in can be begun anew; undefined for a place that cannot be one of an integration. */
export function againUrl(
  parts: SignInParts,
  { provider, name, query }: { readonly provider: string; readonly name: string; readonly query: string },
): string | undefined {
  if (!isProviderName(provider) || !/^[a-z0-9-]+$/.test(name)) return undefined;
  return `${addressesOf(parts, { provider, name }).signInUrl}${query === '' ? '' : `?${query}`}`;
}
