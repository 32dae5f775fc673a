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
  calculatePKCECodeChallenge,
  clockTolerance,
  customFetch,
  discovery,
  fetchUserInfo,
} from 'openid-client';
import { isLoopback } from '../origins.ts';
import { profileOf } from './claims.ts';
import { asFailure } from './failures.ts';
import { checkIdToken, identityOf } from './id-token.ts';
import {
  clockToleranceSeconds,
  discoveryAgeMsMax,
  discoveryFailureMsMax,
  outboundMsMax,
  providersKeptBytesMax,
  providersKeptMax,
} from './limits.ts';
import { logoutOf } from './logout-token.ts';
import type { Fetch } from './outbound.ts';
import { type Client, type IdentityProvider, type ProvenIdentity, ProviderFailure } from './provider.ts';
import { providerKeys } from './provider-keys.ts';
import { TtlCache } from './ttl-cache.ts';

export interface OidcOptions {
  /** Whether the operator has named a host, which may then be asked over http. */
  readonly isNamed?: (host: string) => boolean;
  /** The issuer of all its clients; without it each client names its own. */
  readonly issuer?: string;
  /** The way out to an issuer, which may be on this machine. */
  readonly fetchFor: (issuer: URL) => Fetch;
}

type ProviderClient = Omit<Client, 'redirectUri'>;

/** What is known of a provider, for one of its clients. */
interface Known {
  readonly configuration: Configuration;
  readonly keys: JWTVerifyGetKey;
  /** What its ID tokens may be signed with. */
  readonly algorithms: readonly string[];
  /** What it takes of memory, roughly. */
  readonly bytes: number;
}

/**
 * What an ID token may be signed with at all: by a key that the provider alone has. `none` is no signature, and
 * HS256 would make of our secret, or of a public key taken for one, a key to sign with (RFC 8725, 2.1).
 */
const asymmetric = /^(RS|PS|ES)(256|384|512)$|^EdDSA$|^Ed25519$/;

/** Any provider of OpenID Connect that can be discovered, by openid-client and jose. */
export function oidcProvider(options: OidcOptions): IdentityProvider {
  const { issuer } = options;
  const known = new TtlCache<Known>({
    ageMsMax: discoveryAgeMsMax,
    failureMsMax: discoveryFailureMsMax,
    countMax: providersKeptMax,
    bytesMax: providersKeptBytesMax,
    bytesOf: ({ bytes }) => bytes,
  });
  const learn = (client: ProviderClient) => learnOf(client, new URL(issuer ?? client.issuer ?? ''), options);
  const knownOf = (client: ProviderClient) => known.get(keyOf(client), () => learn(client));

  return {
    async discover(client) {
      await known.renew(keyOf(client), () => learn(client)).catch(refuse);
    },

    async begin(client, { state, nonce, codeVerifier }) {
      const { configuration } = await knownOf(client).catch(refuse);
      return buildAuthorizationUrl(configuration, {
        redirect_uri: client.redirectUri,
        scope: client.scopes.join(' '),
        state,
        nonce,
        code_challenge: await calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: 'S256',
      });
    },

    async finish(client, parameters, { state, nonce, codeVerifier }) {
      try {
        const { configuration, keys, algorithms } = await knownOf(client);
        const callback = new URL(client.redirectUri);
        callback.search = parameters.toString();
        const tokens = await authorizationCodeGrant(configuration, callback, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: codeVerifier,
          idTokenExpected: true,
        });
        const idToken = tokens.id_token as string;
        // The library trusts the connection for the signature; an ID token is to prove itself wherever it came from.
        const { payload, protectedHeader } = await jwtVerify(idToken, keys, {
          algorithms: [...algorithms],
          audience: client.clientId,
          clockTolerance: clockToleranceSeconds,
          requiredClaims: ['iss', 'sub', 'exp', 'iat'],
        });
        checkIdToken(payload, protectedHeader, tokens.access_token);
        const identity = identityOf(payload, client);
        if (
          isWhole(identity, client.scopes) ||
          configuration.serverMetadata().userinfo_endpoint === undefined
        )
          return identity;
        // It must tell of the same subject (OpenID Connect Core 1.0, 5.3.2), which the library checks.
        const userinfo = await fetchUserInfo(configuration, tokens.access_token, identity.subject);
        return withProfile(identity, profileOf(userinfo));
      } catch (error) {
        return refuse(error);
      }
    },

    async signOutUrl(client, returnUrl) {
      const { configuration } = await knownOf(client).catch(refuse);
      const { end_session_endpoint: endpoint } = configuration.serverMetadata();
      const url = browserUrl(endpoint, new URL(issuer ?? client.issuer ?? ''), options.isNamed);
      if (url === undefined || url.username !== '' || url.password !== '') return undefined;
      url.searchParams.set('client_id', client.clientId);
      url.searchParams.set('post_logout_redirect_uri', returnUrl);
      return url;
    },

    async readLogoutToken(client, token) {
      try {
        const { configuration, keys, algorithms } = await knownOf(client);
        const { payload, protectedHeader } = await jwtVerify(token, keys, {
          algorithms: [...algorithms],
          issuer: configuration.serverMetadata().issuer,
          audience: client.clientId,
          clockTolerance: clockToleranceSeconds,
          requiredClaims: ['iss', 'aud', 'iat', 'exp', 'jti', 'events'],
        });
        return logoutOf(payload, protectedHeader.typ);
      } catch (error) {
        return refuse(error);
      }
    },
  };
}

/** Whether userinfo has nothing to add to what was asked for. */
function isWhole({ name, email }: ProvenIdentity, scopes: readonly string[]): boolean {
  const lacksName = name === undefined && scopes.includes('profile');
  const lacksEmail = email === undefined && scopes.includes('email');
  return !lacksName && !lacksEmail;
}

/** What the ID token lacks. An address and its being verified come from one source. */
function withProfile(identity: ProvenIdentity, userinfo: ReturnType<typeof profileOf>): ProvenIdentity {
  const { email: _email, emailVerified: _verified, ...rest } = userinfo;
  return { ...(identity.email === undefined ? userinfo : rest), ...identity };
}

function refuse(error: unknown): never {
  throw asFailure(error);
}

/** Another secret is another client: it may be answered otherwise. */
function keyOf({ issuer, clientId, clientSecret }: ProviderClient): string {
  const digest = createHash('sha256').update(clientSecret).digest('base64url');
  return JSON.stringify([issuer, clientId, digest]);
}

async function learnOf(
  client: ProviderClient,
  issuer: URL,
  { fetchFor, isNamed }: OidcOptions,
): Promise<Known> {
  const fetch = fetchFor(issuer);
  const configuration = await discovery(
    issuer,
    client.clientId,
    { [clockTolerance]: clockToleranceSeconds },
    clientAuthentication(client.clientSecret),
    {
      [customFetch]: async (...request) => usedOf(await fetch(...request)),
      timeout: outboundMsMax / 1_000,
      // Whether http is asked is decided where requests go out.
      execute: issuer.protocol === 'http:' ? [allowInsecureRequests] : [],
    },
  );
  configuration[customFetch] = fetch;
  const metadata = configuration.serverMetadata();
  if (browserUrl(metadata.authorization_endpoint, issuer, isNamed) === undefined)
    throw new ProviderFailure('untrusted', 'authorization_endpoint');
  const told = metadata.id_token_signing_alg_values_supported ?? ['RS256'];
  const algorithms = told.filter((name) => asymmetric.test(name));
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

/** A provider's metadata without what is not used: the rest may be large, and would be kept. */
async function usedOf(response: Response): Promise<Response> {
  const { status, headers } = response;
  const text = await response.text();
  return new Response(status === 200 ? slimmed(text) : text, { status, headers });
}

function slimmed(text: string): string {
  try {
    const told: unknown = JSON.parse(text);
    if (typeof told !== 'object' || told === null || Array.isArray(told)) return text;
    return JSON.stringify(told, [...usedMetadata]);
  } catch {
    // What is wrong with it the library says.
    return text;
  }
}

/**
 * An address that a browser may be sent to: never of a scheme that runs something, nor over a line that others read.
 * Undefined for any other.
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

/** A method that the provider takes; without a word of it HTTP Basic (OpenID Connect Discovery 1.0, 3). */
function clientAuthentication(secret: string): ClientAuth {
  const [basic, post] = [ClientSecretBasic(secret), ClientSecretPost(secret)];
  return (server, ...rest) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    return (methods.includes('client_secret_post') ? post : basic)(server, ...rest);
  };
}
