import { defined } from '../defined.ts';
import { invalidRequest, ServiceError } from '../errors.ts';
import { ProviderFailure } from '../identity/provider.ts';
import { integrationUrls, type SignInContext } from './context.ts';
import { type SessionFilter, userKey } from './types.ts';

export interface ProviderLogout {
  readonly provider: string;
  readonly name: string;
  readonly token: string;
  readonly requestId: string;
}

/**
 * Ends the sessions that a logout token names (OpenID Connect Back-Channel Logout 1.0): all sign-ins of a user by the
 * client of this integration, or those of one session at the provider. If the same client is registered under several
 * names, the sessions of all these names end, because the provider knows only one client. A token may name several
 * clients, and is valid once for each. Throws `provider_not_found`, `integration_not_found`, and `invalid_request`
 * (2.8), also if the provider's keys cannot be read.
 */
export async function endByProvider(
  context: SignInContext,
  { provider, name, token, requestId }: ProviderLogout,
): Promise<void> {
  const client = await context.integrations.findClient(provider, name);
  const { redirectUri } = integrationUrls(context, client);
  const logout = await context.providers[client.provider]
    .readLogoutToken({ ...client, redirectUri }, token)
    .catch(asError);
  const { issuer, subject, providerSession } = logout;
  const user = subject === undefined ? undefined : userKey({ issuer, subject });
  const integration = `${client.provider}/${client.name}`;
  const filter: SessionFilter = {
    issuer,
    integrations: await context.integrations.ofClient(client.clientId),
    ...defined({ user, providerSession }),
  };
  const id = {
    kind: 'logout_token',
    id: `${issuer} ${client.clientId} ${logout.id}`,
    expiresAt: logout.expiresAt,
  } as const;
  await context.accessEnding
    .end({
      filter,
      act: { what: 'user.signed_out', on: user ?? integration, by: 'provider', requestId },
      also: context.oneTimeIds.use(id),
    })
    .catch((error: unknown) => {
      throw error instanceof ServiceError && error.code === 'precondition_failed'
        ? invalidToken('used before')
        : error;
    });
}

function asError(error: unknown): never {
  if (!(error instanceof ProviderFailure)) throw error;
  throw invalidToken(`${error.reason}: ${error.detail}`);
}

/** @param detail only for the log */
function invalidToken(detail: string): ServiceError {
  return invalidRequest(
    'logout_token',
    'logout_token is invalid, was used before, or cannot be checked now.',
    detail,
  );
}
