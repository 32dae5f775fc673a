import { createHash } from 'node:crypto';
import { createRemoteJWKSet, errors, type JWTVerifyGetKey, customFetch as keysFetch } from 'jose';
import { LRUCache } from 'lru-cache';
import {
  allowInsecureRequests,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  type Configuration,
  clockTolerance,
  customFetch,
  discovery,
} from 'openid-client';
import { isLoopback } from '../addresses.ts';
import {
  clockToleranceSeconds,
  discoveryAgeMsMax,
  discoveryFailureMsMax,
  outboundMsMax,
  providerKeysAgeMsMax,
  providerKeysPauseMs,
  providersCachedBytesMax,
  providersCachedMax,
} from './limits.ts';
import type { Fetch } from './outbound.ts';
import { type Client, ProviderFailure } from './provider.ts';

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

/** The metadata and keys of providers, cached for each client. Concurrent callers share one discovery. */
export class ProviderMetadata {
  readonly #options: OidcOptions;
  readonly #entries = new LRUCache<string, CacheEntry>({
    max: providersCachedMax,
    maxSize: providersCachedBytesMax,
  });

  constructor(options: OidcOptions) {
    this.#options = options;
  }

  /** Rejects with the failure of the last discovery while that is cached. */
  get(client: ProviderClient): Promise<Discovered> {
    const cached = this.#entries.get(cacheKey(client));
    if (cached !== undefined && cached.until > performance.now()) return cached.discovered;
    return this.renew(client);
  }

  /** Discovers the provider now, and caches the result. */
  renew(client: ProviderClient): Promise<Discovered> {
    const key = cacheKey(client);
    const discovered = discover(client, this.#options);
    const entry: CacheEntry = { discovered, until: performance.now() + discoveryAgeMsMax };
    this.#entries.set(key, entry, { size: 1 });
    discovered.then(
      ({ bytes }) => {
        // The size is known only now.
        if (this.#entries.peek(key) === entry) this.#entries.set(key, entry, { size: 1 + bytes });
      },
      () => {
        entry.until = performance.now() + discoveryFailureMsMax;
      },
    );
    return discovered;
  }
}

interface CacheEntry {
  readonly discovered: Promise<Discovered>;
  until: number;
}

/** The secret is part of the key: with another secret the provider may respond differently. */
function cacheKey({ issuer, clientId, clientSecret }: ProviderClient): string {
  const digest = createHash('sha256').update(clientSecret).digest('base64url');
  return JSON.stringify([issuer, clientId, digest]);
}

/** The issuer of the options, or the client's own. */
export function issuerUrl({ issuer = '' }: ProviderClient, options: OidcOptions): URL {
  return new URL(options.issuer ?? issuer);
}

async function discover(client: ProviderClient, options: OidcOptions): Promise<Discovered> {
  const issuer = issuerUrl(client, options);
  const fetch = options.fetchFor(issuer);
  const configuration = await discovery(
    issuer,
    client.clientId,
    { [clockTolerance]: clockToleranceSeconds },
    clientAuthentication(client.clientSecret),
    {
      [customFetch]: async (...request) => withoutUnused(await fetch(...request)),
      timeout: outboundMsMax / 1_000,
      // The `fetch` decides whether http is allowed.
      execute: issuer.protocol === 'http:' ? [allowInsecureRequests] : [],
    },
  );
  configuration[customFetch] = fetch;
  const metadata = configuration.serverMetadata();
  if (browserUrl(metadata.authorization_endpoint, issuer, options.isNamed) === undefined)
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
async function withoutUnused(response: Response): Promise<Response> {
  const { status, headers } = response;
  const text = await response.text();
  return new Response(status === 200 ? usedMembers(text) : text, { status, headers });
}

function usedMembers(text: string): string {
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
export function browserUrl(
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

/**
 * The signing keys of a provider. An unknown key id reloads the key set at once, because the provider may have just added the
 * key. Then there is no further reload for `providerKeysPauseMs`, so that tokens with false key ids cause no flood.
 */
function providerKeys(address: URL, fetch: Fetch): JWTVerifyGetKey {
  const keys = createRemoteJWKSet(address, {
    [keysFetch]: (url, init) => fetch(url, init),
    timeoutDuration: outboundMsMax,
    cacheMaxAge: providerKeysAgeMsMax,
    // The library's pause begins with any load, and would delay the use of a new key.
    cooldownDuration: Number.MAX_SAFE_INTEGER,
  });
  let renewals = 0;
  let renewedAt = Number.NEGATIVE_INFINITY;
  const renew = async () => {
    renewedAt = performance.now();
    await keys.reload();
    renewals++;
  };
  return async (header, token) => {
    const seen = renewals;
    try {
      return await keys(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      const isRenewed = renewals !== seen;
      const mayRenew = keys.reloading || performance.now() - renewedAt > providerKeysPauseMs;
      if (!isRenewed && !mayRenew) throw error;
      if (!isRenewed) await renew();
      return keys(header, token);
    }
  };
}
