import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  ClientSecretPost,
  Configuration,
  customFetch,
} from 'openid-client';
import { asFailure } from './failures.ts';
import { outboundMsMax } from './limits.ts';
import type { Fetch } from './outbound.ts';
import { readProfile } from './profile.ts';
import {
  type Client,
  type IdentityProvider,
  type ProvenIdentity,
  ProviderFailure,
  pkceChallenge,
} from './provider.ts';

interface GithubOptions {
  /** `https://github.com`, or the origin of a GitHub Enterprise Server. */
  readonly origin: string;
  readonly fetch: Fetch;
}

/**
 * GitHub has no ID tokens for users: this uses plain OAuth 2 with state and PKCE, then reads the user of the token
 * (GitHub Docs, Authorizing OAuth apps; REST API, Get the authenticated user). The issuer is its origin.
 */
export function githubProvider({ origin, fetch }: GithubOptions): IdentityProvider {
  const api = origin === 'https://github.com' ? 'https://api.github.com' : `${origin}/api/v3`;
  const configure = ({ clientId, clientSecret }: Client) => {
    const server = {
      issuer: `${origin}/login/oauth`,
      authorization_endpoint: `${origin}/login/oauth/authorize`,
      token_endpoint: `${origin}/login/oauth/access_token`,
    };
    const configuration = new Configuration(server, clientId, undefined, ClientSecretPost(clientSecret));
    configuration[customFetch] = async (url, init) => withErrorStatus(await fetch(url, init));
    configuration.timeout = outboundMsMax / 1_000;
    if (origin.startsWith('http:')) allowInsecureRequests(configuration);
    return configuration;
  };

  return {
    // The addresses of GitHub are fixed.
    async discover() {},

    async begin(client, { state, codeVerifier }) {
      return buildAuthorizationUrl(configure(client), {
        redirect_uri: client.redirectUri,
        scope: client.scopes.join(' '),
        state,
        code_challenge: pkceChallenge(codeVerifier),
        code_challenge_method: 'S256',
      });
    },

    async finish(client, parameters, { state, codeVerifier }) {
      try {
        const callback = new URL(client.redirectUri);
        callback.search = parameters.toString();
        const { access_token: token } = await authorizationCodeGrant(configure(client), callback, {
          expectedState: state,
          pkceCodeVerifier: codeVerifier,
        });
        const user = await readUser(fetch, `${api}/user`, token);
        if (!client.scopes.includes('user:email')) return { issuer: origin, ...user };
        const { email: _public, emailVerified: _unknown, ...others } = user;
        return { issuer: origin, ...others, ...(await primaryEmail(fetch, `${api}/user/emails`, token)) };
      } catch (error) {
        throw asFailure(error);
      }
    },

    // GitHub has no such address, and no logout tokens.
    async signOutUrl() {
      return undefined;
    },

    async readLogoutToken() {
      throw new ProviderFailure('untrusted', 'logout_token');
    },
  };
}

/**
 * A failed exchange has the status 200 and an error in its body (GitHub Docs, Troubleshooting OAuth app access token request
 * errors); by RFC 6749, 5.2, the status is 400.
 */
async function withErrorStatus(response: Response): Promise<Response> {
  const text = await response.text();
  const { status, headers } = response;
  return new Response(text, { status: status === 200 && isError(text) ? 400 : status, headers });
}

function isError(text: string): boolean {
  try {
    return typeof (JSON.parse(text) as { readonly error?: unknown } | null)?.error === 'string';
  } catch {
    return false;
  }
}

/**
 * The primary e-mail address, which may be private (GitHub Docs, REST API, List email addresses). If the list cannot be read,
 * the identity has no address.
 */
async function primaryEmail(
  fetch: Fetch,
  url: string,
  token: string,
): Promise<Pick<ProvenIdentity, 'email' | 'emailVerified'>> {
  const list: unknown = await fetch(url, { headers: apiHeaders(token) })
    .then((response) => (response.status === 200 ? response.json() : []))
    .catch(() => []);
  const emails = (Array.isArray(list) ? list : []) as (Record<string, unknown> | null)[];
  const primary = emails.find((each) => each?.primary === true);
  return readProfile({ email: primary?.email, email_verified: primary?.verified });
}

function apiHeaders(token: string) {
  return {
    accept: 'application/vnd.github+json',
    authorization: `Bearer ${token}`,
    'user-agent': 'counterfoil',
    'x-github-api-version': '2022-11-28',
  };
}

async function readUser(fetch: Fetch, url: string, token: string): Promise<Omit<ProvenIdentity, 'issuer'>> {
  const response = await fetch(url, { headers: apiHeaders(token) });
  if (response.status >= 500) throw new ProviderFailure('unreachable', 'user_status');
  if (response.status !== 200) throw new ProviderFailure('rejected', 'user_status');
  const user = (await response.json().catch(() => undefined)) as Record<string, unknown> | undefined;
  // The number is stable; a login name can pass to another user.
  const id = user?.id;
  if (typeof id !== 'number' || !Number.isSafeInteger(id) || id <= 0) {
    throw new ProviderFailure('untrusted', 'user_id');
  }
  const { name, login, email, avatar_url: picture } = user ?? {};
  return { subject: String(id), ...readProfile({ name: name ?? login, email, picture }) };
}
