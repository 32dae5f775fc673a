import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface IdentityProviderOptions {
  readonly clientId: string;
  readonly clientSecret: string;
  /** The redirect URIs of the client. */
  readonly redirectUris: readonly string[];
  /** More settings for oidc-provider. */
  readonly more?: Readonly<Record<string, unknown>>;
}

export interface RunningProvider {
  readonly issuer: string;
  readonly server: Server;
  close(): Promise<void>;
}

/**
 * A real identity provider on this machine (panva's oidc-provider). It accepts any login and any password, and uses the
 * login as the name. For examples and tests only.
 */
export async function startIdentityProvider(options: IdentityProviderOptions): Promise<RunningProvider> {
  let listener: RequestListener = (_request, response) => response.writeHead(503).end();
  const server = createServer((request, response) => listener(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = await quietly(async () => {
    const { default: Provider } = await import('oidc-provider');
    return new Provider(issuer, configurationOf(options));
  });
  listener = provider.callback();
  return {
    issuer,
    server,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function configurationOf({ clientId, clientSecret, redirectUris, more }: IdentityProviderOptions) {
  return {
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        redirect_uris: redirectUris,
        post_logout_redirect_uris: signedOutUris(redirectUris),
      },
    ],
    claims: { openid: ['sub'], profile: ['name'], email: ['email', 'email_verified'] },
    // Like Google and Microsoft, put the claims of the user into the ID token.
    conformIdTokenClaims: false,
    findAccount: (_context: unknown, login: string) => ({
      accountId: login,
      claims: () => ({ sub: login, name: login, email: `${login}@example.com`, email_verified: true }),
    }),
    cookies: { keys: [randomBytes(32).toString('hex')] },
    ttl: {
      Session: 3_600,
      Grant: 3_600,
      Interaction: 600,
      AccessToken: 600,
      IdToken: 600,
      AuthorizationCode: 60,
    },
    pkce: { required: () => true },
    ...more,
  };
}

/** Mutes the library's warnings about its development forms and keys. */
async function quietly<Made>(make: () => Promise<Made>): Promise<Made> {
  const { info, warn } = console;
  try {
    console.info = () => undefined;
    console.warn = () => undefined;
    return await make();
  } finally {
    Object.assign(console, { info, warn });
  }
}

/** Where the provider sends the browser after a sign-out. */
function signedOutUris(redirectUris: readonly string[]): string[] {
  return redirectUris.map((uri) => new URL('/v3/auth/signed-out', uri).href);
}
