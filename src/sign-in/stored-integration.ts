import type { SealedRecords } from '../secrets/sealed-records.ts';
import type { SecretPlace } from '../secrets/sealer.ts';
import { identityProviders, type ProviderName } from './providers.ts';

/** A registered integration, as anyone may see it; the secret is not part of it. */
export interface Integration {
  readonly name: string;
  readonly provider: ProviderName;
  readonly clientId: string;
  readonly issuer?: string;
  readonly returnUrls: readonly string[];
  readonly scopes: readonly string[];
  readonly createdAt: string;
}

/** As it lies in `service:integrations`, under `<provider>/<name>`. */
export interface StoredIntegration extends Omit<Integration, 'returnUrls' | 'scopes'> {
  /** Left out where there are none, or the provider's own: so do those read that know of neither. */
  readonly returnUrls?: readonly string[];
  readonly scopes?: readonly string[];
  readonly sealedSecret: string;
  /** Unlike that of any other registration; absent where it was registered before there were any. */
  readonly registrationId?: string;
}

/** What tokens are bound to: they end with it. */
export interface BoundRegistration {
  readonly id: string | undefined;
  readonly returnUrls: readonly string[];
}

export const integrationsSpace = 'service:integrations';

/** The client secrets that lie in `service:integrations`. */
export const sealedClientSecrets: SealedRecords = {
  space: integrationsSpace,
  exchange(_id, text, exchange) {
    const stored = JSON.parse(text) as StoredIntegration;
    const place = secretPlace(stored.provider, stored.name);
    return JSON.stringify({ ...stored, sealedSecret: exchange(stored.sealedSecret, place) });
  },
};

/** By name, so that nothing else of the record can be shown. */
export function shown({
  name,
  provider,
  clientId,
  issuer,
  returnUrls = [],
  scopes,
  createdAt,
}: StoredIntegration) {
  return {
    name,
    provider,
    clientId,
    ...(issuer === undefined ? {} : { issuer }),
    returnUrls,
    scopes: scopes ?? identityProviders[provider].defaultScopes,
    createdAt,
  } satisfies Integration;
}

export function secretPlace(provider: ProviderName, name: string): SecretPlace {
  return { record: 'integration', name: `${provider}/${name}`, field: 'client_secret' };
}
