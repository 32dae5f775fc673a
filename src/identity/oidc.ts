import { createHash } from 'node:crypto';
import { type JWTVerifyGetKey, jwtVerify } from 'jose';
import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  type Configuration,
  clockTolerance,
  customFetch,
  discovery,
} from 'openid-client';
import { isLoopback } from '../origins.ts';
import { asFailure } from './failures.ts';
import { checkIdToken, identityOf } from './id-token.ts';
import {
  clockToleranceSeconds,
  discoveryAgeMsMax,
  discoveryFailureMsMax,
  outboundMsMax,
  providersCachedBytesMax,
  providersCachedMax,
} from './limits.ts';
import { logoutOf } from './logout-token.ts';
import type { Fetch } from './outbound.ts';
import { pkceChallenge } from './pkce.ts';
import { type Client, type IdentityProvider, ProviderFailure } from './provider.ts';
import { providerKeys } from './provider-keys.ts';
import { TtlCache } from './ttl-cache.ts';
import { withUserinfo } from './userinfo.ts';

export interface OidcOptions {
  /** Whether the operator has named a host; the service may call it over http. */
  readonly isNamed?: (host: string) => boolean;
  /** The issuer of all clients; if undefined, each client names its issuer. */
  readonly issuer?: string;
  /** The `fetch` for an issuer, which may be on this machine. */
  readonly fetchFor: (issuer: URL) => Fetch;
}

type ProviderClient = Omit<Client, 'redirectUri'>;

/** The metadata and keys of a provider, for one of its clients. */
interface Discovered {
  readonly configuration: Configuration;
  readonly keys: JWTVerifyGetKey;
  /** The allowed signature algorithms of its ID tokens. */
  readonly algorithms: readonly string[];
  /** The approximate memory that it takes. */
  readonly bytes: number;
}

/**
 * ID tokens must be signed with a private key of the provider. `none` is no signature. HS256 would accept our secret, or a
 * public key mistaken for a secret, as the signing key (RFC 8725, 2.1).
 */
const asymmetric = /^(RS|PS|ES)(256|384|512)$|^EdDSA$|^Ed25519$/;

/** Any OpenID Connect provider with discovery, through openid-client and jose. */
export function oidcProvider(options: OidcOptions): IdentityProvider {
  const { issuer } = options;
  const cache = new TtlCache<Discovered>({
    ageMsMax: discoveryAgeMsMax,
    failureMsMax: discoveryFailureMsMax,
    countMax: providersCachedMax,
    bytesMax: providersCachedBytesMax,
    bytesOf: ({ bytes }) => bytes,
  });
  const load = (client: ProviderClient) => discover(client, new URL(issuer ?? client.issuer ?? ''), options);
  const discovered = (client: ProviderClient) => cache.get(keyOf(client), () => load(client));

  return {
    async discover(client) {
      await cache.renew(keyOf(client), () => load(client)).catch(fail);
    },

    async begin(client, { state, nonce, codeVerifier }) {
      const { configuration } = await discovered(client).catch(fail);
      return buildAuthorizationUrl(configuration, {
        redirect_uri: client.redirectUri,
        scope: client.scopes.join(' '),
        state,
        nonce,
        code_challenge: pkceChallenge(codeVerifier),
        code_challenge_method: 'S256',
      });
    },

    async finish(client, parameters, { state, nonce, codeVerifier }) {
      try {
        const { configuration, keys, algorithms } = await discovered(client);
        const callback = new URL(client.redirectUri);
        callback.search = parameters.toString();
        const tokens = await authorizationCodeGrant(configuration, callback, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: codeVerifier,
          idTokenExpected: true,
        });
        const idToken = tokens.id_token as string;
        // The library relies on TLS in place of the signature; here the signature is always verified.
        const { payload, protectedHeader } = await jwtVerify(idToken, keys, {
          algorithms: [...algorithms],
          audience: client.clientId,
          clockTolerance: clockToleranceSeconds,
          requiredClaims: ['iss', 'sub', 'exp', 'iat'],
        });
        const code = parameters.get('code') ?? '';
        checkIdToken(payload, protectedHeader, { accessToken: tokens.access_token, code });
        const identity = identityOf(payload, client);
        return await withUserinfo(identity, client.scopes, {
          configuration,
          accessToken: tokens.access_token,
        });
      } catch (error) {
        return fail(error);
      }
    },

    async signOutUrl(client, returnUrl) {
      const { configuration } = await discovered(client).catch(fail);
      const { end_session_endpoint: endpoint } = configuration.serverMetadata();
      const url = browserUrl(endpoint, new URL(issuer ?? client.issuer ?? ''), options.isNamed);
      if (url === undefined || url.username !== '' || url.password !== '') return undefined;
      url.searchParams.set('client_id', client.clientId);
      url.searchParams.set('post_logout_redirect_uri', returnUrl);
      return url;
    },

    async readLogoutToken(client, token) {
      try {
        const { configuration, keys, algorithms } = await discovered(client);
        const { payload, protectedHeader } = await jwtVerify(token, keys, {
          algorithms: [...algorithms],
          issuer: configuration.serverMetadata().issuer,
          audience: client.clientId,
          clockTolerance: clockToleranceSeconds,
          requiredClaims: ['iss', 'aud', 'iat', 'exp', 'jti', 'events'],
        });
        return logoutOf(payload, protectedHeader.typ);
      } catch (error) {
        return fail(error);
      }
    },
  };
}

function fail(error: unknown): never {
  throw asFailure(error);
}

/** The secret is part of the key: with another secret the provider may respond differently. */
function keyOf({ issuer, clientId, clientSecret }: ProviderClient): string {
  const digest = createHash('sha256').update(clientSecret).digest('base64url');
  return JSON.stringify([issuer, clientId, digest]);
}

async function discover(
  client: ProviderClient,
  issuer: URL,
  { fetchFor, isNamed }: OidcOptions,
): Promise<Discovered> {
  const fetch = fetchFor(issuer);
  const configuration = await discovery(
    issuer,
    client.clientId,
    { [clockTolerance]: clockToleranceSeconds },
    clientAuthentication(client.clientSecret),
    {
      [customFetch]: async (...request) => usedOf(await fetch(...request)),
      timeout: outboundMsMax / 1_000,
      // The `fetch` decides whether http is allowed.
      execute: issuer.protocol === 'http:' ? [allowInsecureRequests] : [],
    },
  );
  configuration[customFetch] = fetch;
  const metadata = configuration.serverMetadata();
  if (browserUrl(metadata.authorization_endpoint, issuer, isNamed) === undefined)
    throw new ProviderFailure('untrusted', 'authorization_endpoint');
  const supported = metadata.id_token_signing_alg_values_supported ?? ['RS256'];
  const algorithms = supported.filter((name) => asymmetric.test(name));
  if (algorithms.length === 0) throw new ProviderFailure('untrusted', 'no_asymmetric_algorithm');
  if (metadata.jwks_uri === undefined || metadata.token_endpoint === undefined) {
    throw new ProviderFailure('untrusted', 'endpoint_missing');
  }
  const keys = providerKeys(new URL(metadata.jwks_uri), fetch);
  return { configuration, keys, algorithms, bytes: JSON.stringify(metadata).length };
}

const usedMetadata = [
  'issuer',
  'authorization_endpoint',
  'token_endpoint',
  'userinfo_endpoint',
  'end_session_endpoint',
  'jwks_uri',
  'authorization_response_iss_parameter_supported',
  'id_token_signing_alg_values_supported',
  'token_endpoint_auth_methods_supported',
] as const;

/** Drops the metadata that is not used: it may be large, and would be cached. */
async function usedOf(response: Response): Promise<Response> {
  const { status, headers } = response;
  const text = await response.text();
  return new Response(status === 200 ? slimmed(text) : text, { status, headers });
}

function slimmed(text: string): string {
  try {
    const metadata: unknown = JSON.parse(text);
    if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata)) return text;
    return JSON.stringify(metadata, [...usedMetadata]);
  } catch {
    // The library reports the malformed document.
    return text;
  }
}

/**
 * An address that is safe for a browser: https, or http on loopback and private hosts. Undefined for any other, so that no
 * scheme runs code and no request crosses the internet in clear.
 */
function browserUrl(
  address: unknown,
  issuer: URL,
  isNamed: OidcOptions['isNamed'] = () => false,
): URL | undefined {
  const url = typeof address === 'string' && URL.canParse(address) ? new URL(address) : undefined;
  if (url?.protocol === 'https:') return url;
  const isLocal = url !== undefined && isLoopback(url.hostname) && isLoopback(issuer.hostname);
  const isPrivate = url !== undefined && issuer.protocol === 'http:' && isNamed(url.hostname);
  return url?.protocol === 'http:' && (isLocal || isPrivate) ? url : undefined;
}

/** A method that the provider supports; HTTP Basic if its metadata lists none (OpenID Connect Discovery 1.0, 3). */
function clientAuthentication(secret: string): ClientAuth {
  const [basic, post] = [ClientSecretBasic(secret), ClientSecretPost(secret)];
  return (server, ...rest) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    return (methods.includes('client_secret_post') ? post : basic)(server, ...rest);
  };
}
