import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface IdentityProviderOptions {
  readonly clientId: string;
  readonly clientSecret: string;
  /** Where it may send browsers back to. */
  readonly redirectUris: readonly string[];
  /** Further settings of the library. */
  readonly more?: Readonly<Record<string, unknown>>;
}

export interface RunningProvider {
  readonly issuer: string;
  readonly server: Server;
  close(): Promise<void>;
}

/**
 * A real identity provider on this machine (panva's oidc-provider): any login and any password will do, and the
 * login is the name. For trying things out, and for nothing else.
 */
export async function startIdentityProvider(options: IdentityProviderOptions): Promise<RunningProvider> {
  let answer: RequestListener = (_request, response) => response.writeHead(503).end();
  const server = createServer((request, response) => answer(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = await quietly(async () => {
    const { default: Provider } = await import('oidc-provider');
    return new Provider(issuer, configurationOf(options));
  });
  answer = provider.callback();
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
    // As Google and Microsoft do it: who signed in stands in the ID token.
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

/** It warns, rightly, of its forms and keys that are for trying out. */
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

/** Where Counterfoil takes the browser after a sign-out here. */
function signedOutUris(redirectUris: readonly string[]): string[] {
  return redirectUris.map((uri) => new URL('/v3/auth/signed-out', uri).href);
}
