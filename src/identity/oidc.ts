import { createHash } from 'node:crypto';
import { type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
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
import { clockToleranceSeconds, discoveryAgeMsMax, outboundMsMax, providersKeptMax } from '../limits.ts';
import { isLoopback } from '../loopback.ts';
import { profileOf } from './claims.ts';
import { asFailure } from './failures.ts';
import { Kept } from './kept.ts';
import type { Fetch } from './outbound.ts';
import { type Client, type IdentityProvider, type ProvenIdentity, ProviderFailure } from './provider.ts';
import { providerKeys } from './provider-keys.ts';

export interface OidcOptions {
  /** The issuer of all its clients; without it each client names its own. */
  readonly issuer?: string;
  /** The way out to an issuer, which may be on this machine. */
  readonly fetchFor: (issuer: URL) => Fetch;
}

/** What is known of a provider, for one of its clients. */
interface Known {
  readonly configuration: Configuration;
  readonly keys: JWTVerifyGetKey;
  /** What its ID tokens may be signed with. */
  readonly algorithms: readonly string[];
}

/**
 * What an ID token may be signed with at all: by a key that the provider alone has. `none` is no signature, and
 * HS256 would make of our secret, or of a public key taken for one, a key to sign with (RFC 8725, 2.1).
 */
const asymmetric = /^(RS|PS|ES)(256|384|512)$|^EdDSA$|^Ed25519$/;

/** Tenants of Microsoft are GUIDs; their issuers differ by them (Microsoft identity platform, ID token claims). */
const tenant = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Any provider of OpenID Connect that can be discovered, by openid-client and jose. */
export function oidcProvider({ issuer, fetchFor }: OidcOptions): IdentityProvider {
  const known = new Kept<Known>(discoveryAgeMsMax, providersKeptMax);
  const learn = (client: Client) => learnOf(client, new URL(issuer ?? client.issuer ?? ''), fetchFor);
  const knownOf = (client: Client) => known.get(keyOf(client), () => learn(client));

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
        // The library trusts the connection for the signature; an ID token is to prove itself wherever it came from.
        const { payload } = await jwtVerify(tokens.id_token as string, keys, {
          algorithms: [...algorithms],
          audience: client.clientId,
          clockTolerance: clockToleranceSeconds,
          requiredClaims: ['iss', 'sub', 'exp', 'iat'],
        });
        const identity = identityOf(payload, client);
        const isWhole = identity.name !== undefined || !client.scopes.includes('profile');
        if (isWhole || configuration.serverMetadata().userinfo_endpoint === undefined) return identity;
        // It must tell of the same subject (OpenID Connect Core 1.0, 5.3.2), which the library checks.
        const userinfo = await fetchUserInfo(configuration, tokens.access_token, identity.subject);
        return { ...profileOf(userinfo), ...identity };
      } catch (error) {
        return refuse(error);
      }
    },
  };
}

function refuse(error: unknown): never {
  throw asFailure(error);
}

/** Another secret is another client: it may be answered otherwise. */
function keyOf({ issuer, clientId, clientSecret }: Client): string {
  const digest = createHash('sha256').update(clientSecret).digest('base64url');
  return JSON.stringify([issuer, clientId, digest]);
}

async function learnOf(client: Client, issuer: URL, fetchFor: OidcOptions['fetchFor']): Promise<Known> {
  const fetch = fetchFor(issuer);
  const configuration = await discovery(
    issuer,
    client.clientId,
    { [clockTolerance]: clockToleranceSeconds },
    clientAuthentication(client.clientSecret),
    {
      [customFetch]: fetch,
      timeout: outboundMsMax / 1_000,
      // Whether http is asked is decided where requests go out.
      execute: issuer.protocol === 'http:' ? [allowInsecureRequests] : [],
    },
  );
  const metadata = configuration.serverMetadata();
  checkBrowserAddress(metadata.authorization_endpoint, issuer);
  const told = metadata.id_token_signing_alg_values_supported ?? ['RS256'];
  const algorithms = told.filter((name) => asymmetric.test(name));
  if (algorithms.length === 0) throw new ProviderFailure('untrusted', 'no_asymmetric_algorithm');
  if (metadata.jwks_uri === undefined || metadata.token_endpoint === undefined) {
    throw new ProviderFailure('untrusted', 'endpoint_missing');
  }
  const keys = providerKeys(new URL(metadata.jwks_uri), fetch);
  return { configuration, keys, algorithms };
}

/** A browser goes there without our asking: never to a scheme that runs something, nor over a line that others read. */
function checkBrowserAddress(address: string | undefined, issuer: URL): void {
  const url = address !== undefined && URL.canParse(address) ? new URL(address) : undefined;
  const isSafe =
    url?.protocol === 'https:' ||
    (url?.protocol === 'http:' && isLoopback(url.hostname) && isLoopback(issuer.hostname));
  if (!isSafe) throw new ProviderFailure('untrusted', 'authorization_endpoint');
}

/** A method that the provider takes; without a word of it HTTP Basic (OpenID Connect Discovery 1.0, 3). */
function clientAuthentication(secret: string): ClientAuth {
  const [basic, post] = [ClientSecretBasic(secret), ClientSecretPost(secret)];
  return (server, ...rest) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    return (methods.includes('client_secret_post') ? post : basic)(server, ...rest);
  };
}

/** What is left of OpenID Connect Core 1.0, 3.1.3.7, beyond the libraries' checks. */
function identityOf(payload: JWTPayload, { clientId }: Client): ProvenIdentity {
  const { iss = '', sub = '', azp, tid } = payload;
  if (azp !== undefined && azp !== clientId) throw new ProviderFailure('untrusted', 'azp');
  if (iss.startsWith('https://login.microsoftonline.com/') && !tenant.test(String(tid))) {
    throw new ProviderFailure('untrusted', 'tid');
  }
  // OpenID Connect Core 1.0, 2: no more than 255 ASCII characters.
  if (!/^[\x20-\x7e]{1,255}$/.test(sub)) throw new ProviderFailure('untrusted', 'sub');
  return { issuer: iss, subject: sub, ...profileOf(payload) };
}
