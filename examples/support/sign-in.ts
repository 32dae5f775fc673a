import { startIdentityProvider } from './identity-provider.ts';

const client = { clientId: 'example', clientSecret: 'a-secret-of-the-example' };

/**
 * Starts an identity provider, and registers it at the service as the integration `oidc/example`.
 *
 * @param origin of the page: the provider sends the browser back there
 * @param key an API key with the scope integrations:write, if the service needs one
 */
export async function offerSignIn(service: string, origin: string, key?: string): Promise<void> {
  const redirectUris = [`${origin}/v3/auth/oidc/example/callback`];
  const { issuer } = await startIdentityProvider({ ...client, redirectUris });
  const registered = await fetch(`${service}/v3/create/service/auth/oidc/example?verify=true`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      ...(key === undefined ? {} : { Authorization: `Bearer ${key}` }),
    },
    body: JSON.stringify({
      IDP_CLIENT_ID: client.clientId,
      IDP_CLIENT_SECRET: client.clientSecret,
      IDP_ISSUER: issuer,
    }),
  });
  if (!registered.ok) throw new Error(await registered.text());
}
