import { createHash, timingSafeEqual } from 'node:crypto';
import { type Asked, audited } from '../access/audit.ts';
import { ServiceError } from '../errors.ts';
import { integrationNameCharactersMax } from '../limits.ts';
import type { Sealer, SecretPlace } from '../secrets/sealer.ts';
import type { Engine } from '../storage/engine.ts';
import { type CredentialFields, type Credentials, readCredentials } from './credentials.ts';
import { isProviderName, type ProviderName } from './providers.ts';

/** A registered integration, as anyone may see it; the secret is not part of it. */
export interface Integration {
  readonly name: string;
  readonly provider: ProviderName;
  readonly clientId: string;
  readonly createdAt: string;
}

/** As it lies in `service:integrations`, under `<provider>/<name>`. */
interface StoredIntegration extends Integration {
  readonly issuer?: string;
  readonly sealedSecret: string;
}

const space = 'service:integrations';
const namePattern = new RegExp(`^[a-z0-9-]{1,${integrationNameCharactersMax}}$`);

/** The registry of sign-in integrations. */
export class Integrations {
  readonly #engine: Engine;
  readonly #sealer: Sealer;
  readonly #now: () => number;

  constructor(engine: Engine, sealer: Sealer, now: () => number) {
    this.#engine = engine;
    this.#sealer = sealer;
    this.#now = now;
  }

  /**
   * Registers credentials under a name; durable when it resolves. The same name with the same credentials gives
   * the first registration again. Refuses with `provider_not_found`, `invalid_request`, `integration_exists`.
   */
  async register(
    provider: string,
    name: string,
    fields: CredentialFields,
    asked: Asked,
  ): Promise<Integration> {
    if (!isProviderName(provider)) throw new ServiceError('provider_not_found');
    checkName(name);
    const credentials = readCredentials(provider, fields);
    const id = `${provider}/${name}`;
    const integration = this.#newIntegration(provider, name, credentials);
    const value = JSON.stringify(integration);
    const refusal = await this.#engine.commit([
      { kind: 'create', space, id, value, makeSpace: true },
      audited({ what: 'integration.registered', on: id, ...asked }, this.#now()),
    ]);
    if (refusal === undefined) return integration;

    const existing = await this.#engine.get(space, id);
    if (existing === undefined) throw new ServiceError('unavailable');
    return this.#sameOrRefuse(JSON.parse(existing) as StoredIntegration, credentials);
  }

  #newIntegration(provider: ProviderName, name: string, credentials: Credentials): StoredIntegration {
    const { clientId, clientSecret, issuer } = credentials;
    return {
      name,
      provider,
      clientId,
      createdAt: new Date(this.#now()).toISOString(),
      ...(issuer === undefined ? {} : { issuer }),
      sealedSecret: this.#sealer.seal(clientSecret, secretPlace(provider, name)),
    };
  }

  #sameOrRefuse(stored: StoredIntegration, credentials: Credentials): Integration {
    const secret = this.#sealer.open(stored.sealedSecret, secretPlace(stored.provider, stored.name));
    const same =
      stored.clientId === credentials.clientId &&
      stored.issuer === credentials.issuer &&
      equalSecrets(secret, credentials.clientSecret);
    if (same) return stored;
    throw new ServiceError('integration_exists', { param: 'INTEGRATION_NAME' });
  }
}

function secretPlace(provider: ProviderName, name: string): SecretPlace {
  return { record: 'integration', name: `${provider}/${name}`, field: 'client_secret' };
}

function checkName(name: string): void {
  if (!namePattern.test(name)) {
    throw new ServiceError('invalid_request', {
      param: 'INTEGRATION_NAME',
      message: `INTEGRATION_NAME must be 1 to ${integrationNameCharactersMax} lower-case letters, digits and hyphens.`,
    });
  }
}

/** In a time that tells nothing of where they differ, nor of their lengths. */
function equalSecrets(one: string, other: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}
