import { createHash, timingSafeEqual } from 'node:crypto';
import { audited, type Requester } from '../audit/audit.ts';
import { defined } from '../defined.ts';
import { invalidRequest, ServiceError } from '../errors.ts';
import type { Client } from '../identity/provider.ts';
import type { Sealer } from '../secrets/sealer.ts';
import type { Engine } from '../storage/engine.ts';
import type { Records } from '../storage/records.ts';
import { integrationNameCharactersMax, integrationsPageMax } from './limits.ts';
import { type Registration, type RegistrationFields, readRegistration } from './registration.ts';
import {
  type BoundRegistration,
  findRegistration,
  integrationRecords,
  newRegistrationId,
  type StoredIntegration,
  secretPlace,
  shown,
} from './stored-integration.ts';
import { type Integration, identityProviders, isProviderName, type ProviderName } from './types.ts';

/** A page of integrations; `next` is undefined on the last page. */
/** An integration with its decrypted secret. */
export type IntegrationClient = Integration &
  Omit<Client, 'redirectUri'> & {
    readonly registrationId: string | undefined;
    /** The id of the integration's approval for the console; undefined if it has none. */
    readonly consoleApproval: string | undefined;
  };

export interface IntegrationPage {
  readonly integrations: readonly Integration[];
  readonly next: string | undefined;
}

const approvalWithdrawn = 'integration.approval_withdrawn' as const;
const namePattern = new RegExp(`^[a-z0-9-]{1,${integrationNameCharactersMax}}$`);

/** The registry of sign-in integrations. */
export class Integrations {
  readonly #engine: Engine;
  readonly #records: Records<StoredIntegration>;
  readonly #sealer: Sealer;
  readonly #now: () => number;
  readonly #isNamed: (host: string) => boolean;

  /** @param isNamed whether the operator has named a host, which the service may then call over http */
  constructor(
    engine: Engine,
    sealer: Sealer,
    now: () => number,
    isNamed: (host: string) => boolean = () => false,
  ) {
    this.#isNamed = isNamed;
    this.#engine = engine;
    this.#records = integrationRecords(engine);
    this.#sealer = sealer;
    this.#now = now;
  }

  /** Validates a registration without writing it. Throws `provider_not_found`, `invalid_request`. */
  read(provider: string, name: string, fields: RegistrationFields): Registration {
    return readRegistration(checkPlace(provider, name), fields, this.#isNamed);
  }

  /** The current registration of a name. */
  findRegistration(provider: ProviderName, name: string): Promise<BoundRegistration | undefined> {
    return findRegistration(this.#records, provider, name);
  }

  /**
   * Registers credentials under a name; durable when it resolves. The same name with the same registration returns the
   * existing one. Throws `provider_not_found`, `invalid_request`, `integration_exists`.
   */
  async register(
    provider: string,
    name: string,
    fields: RegistrationFields,
    requester: Requester,
  ): Promise<Integration> {
    const known = checkPlace(provider, name);
    const registration = readRegistration(known, fields, this.#isNamed);
    const id = `${known}/${name}`;
    const integration = this.#newIntegration(known, name, registration);
    const act = audited({ what: 'integration.registered', on: id, ...requester }, this.#now());
    const change = (existing: StoredIntegration | undefined) => {
      if (existing === undefined) return { value: integration, also: [act] };
      if (this.#isSame(existing, registration)) return undefined;
      throw new ServiceError('integration_exists', { param: 'INTEGRATION_NAME' });
    };
    const { value = integration } = await this.#records.change(id, change, 'none');
    return shown(value);
  }

  /**
   * Replaces the credentials, return URLs and scopes of an integration; durable when it resolves. Another issuer makes
   * it another registration: the sessions and tokens of the previous one end, and so does its approval for the console.
   * Another client also ends the approval, unless the requester may approve clients. Throws `provider_not_found`,
   * `invalid_request`, `integration_not_found`.
   */
  async replace(
    provider: string,
    name: string,
    fields: RegistrationFields,
    { mayApprove = false, ...requester }: Requester & { readonly mayApprove?: boolean },
  ): Promise<Integration> {
    const known = checkPlace(provider, name);
    const registration = readRegistration(known, fields, this.#isNamed);
    const place = `${known}/${name}`;
    const { value } = await this.#records.change(place, (before) => {
      if (before === undefined) throw notFound();
      const { createdAt, issuer, registrationId, consoleApproval } = before;
      const { registrationId: newId, ...made } = this.#newIntegration(known, name, registration);
      // Another issuer has other users, so it gets a new id. A registration without an id stays without one, because
      // its sessions and tokens have none.
      const id = issuer === made.issuer ? registrationId : newId;
      const keepsApproval = issuer === made.issuer && (before.clientId === made.clientId || mayApprove);
      const integration = {
        ...made,
        createdAt,
        ...defined({ registrationId: id }),
        ...(keepsApproval && consoleApproval !== undefined ? { consoleApproval } : {}),
      };
      const endsApproval = consoleApproval !== undefined && !keepsApproval;
      const whats = ['integration.replaced' as const, ...(endsApproval ? [approvalWithdrawn] : [])];
      const acts = whats.map((what) => audited({ what, on: place, ...requester }, this.#now()));
      return { value: integration, also: acts };
    });
    return shown(value as StoredIntegration);
  }

  /** The registration of a name. Throws `provider_not_found`, `invalid_request` (name), `integration_not_found`. */
  async find(provider: string, name: string): Promise<Integration> {
    const stored = await this.#records.get(`${checkPlace(provider, name)}/${name}`);
    if (stored === undefined) throw notFound();
    return shown(stored);
  }

  /** The client for calls to the provider. Throws as `find` does. */
  async findClient(provider: string, name: string): Promise<IntegrationClient> {
    const known = checkPlace(provider, name);
    const stored = await this.#records.get(`${known}/${name}`);
    if (stored === undefined) throw notFound();
    const clientSecret = this.#sealer.open(stored.sealedSecret, secretPlace(known, name));
    const { registrationId, consoleApproval } = stored;
    return { ...shown(stored), clientSecret, registrationId, consoleApproval: consoleApproval?.id };
  }

  /** Removes the registration. Its sessions end. Throws as `find` does. */
  async remove(provider: string, name: string, requester: Requester): Promise<void> {
    const id = `${checkPlace(provider, name)}/${name}`;
    const act = audited({ what: 'integration.deleted', on: id, ...requester }, this.#now());
    const deletion = { kind: 'delete', space: this.#records.space, id } as const;
    if ((await this.#engine.commit([deletion, act])) !== undefined) throw notFound();
  }

  /**
   * A page of at most `integrationsPageMax` integrations, by provider and name. Throws `provider_not_found`,
   * `invalid_request`.
   *
   * @param provider only integrations of this provider
   * @param after the `next` of the previous page
   */
  async list(provider: string | undefined, after: string | undefined): Promise<IntegrationPage> {
    if (provider !== undefined && !isProviderName(provider)) throw new ServiceError('provider_not_found');
    const prefix = provider === undefined ? '' : `${provider}/`;
    if (after !== undefined && !after.startsWith(prefix)) {
      throw invalidRequest('after', 'after belongs to another provider.');
    }
    const start = after ?? prefix;
    // One extra item shows whether there is another page.
    const limit = integrationsPageMax + 1;
    const integrations: Integration[] = [];
    const found = this.#records.list({ limit, ...(start === '' ? {} : { after: start }) });
    for await (const { id, value } of found) {
      if (!id.startsWith(prefix)) break;
      if (integrations.length === integrationsPageMax)
        return { integrations, next: integrationPath(integrations.at(-1)) };
      integrations.push(shown(value));
    }
    return { integrations, next: undefined };
  }

  /** All integrations with this client id, as `<provider>/<name>`. A client may be registered under several names. */
  async ofClient(clientId: string): Promise<readonly string[]> {
    const names: string[] = [];
    for await (const page of this.#records.pages())
      for (const { id, value } of page) if (value.clientId === clientId) names.push(id);
    return names;
  }

  #newIntegration(provider: ProviderName, name: string, registration: Registration): StoredIntegration {
    const { clientId, clientSecret, issuer, returnUrls, scopes } = registration;
    return {
      name,
      provider,
      clientId,
      createdAt: new Date(this.#now()).toISOString(),
      ...defined({ issuer }),
      ...(returnUrls.length === 0 ? {} : { returnUrls }),
      ...(scopes === identityProviders[provider].defaultScopes ? {} : { scopes }),
      sealedSecret: this.#sealer.seal(clientSecret, secretPlace(provider, name)),
      registrationId: newRegistrationId(),
    };
  }

  #isSame(stored: StoredIntegration, registration: Registration): boolean {
    const { provider, name, sealedSecret } = stored;
    const secret = this.#sealer.open(sealedSecret, secretPlace(provider, name));
    const { clientId, issuer, returnUrls, scopes } = shown(stored);
    return (
      clientId === registration.clientId &&
      issuer === registration.issuer &&
      JSON.stringify([returnUrls, scopes]) ===
        JSON.stringify([registration.returnUrls, registration.scopes]) &&
      equalSecrets(secret, registration.clientSecret)
    );
  }
}

function integrationPath(integration: Integration | undefined): string | undefined {
  return integration === undefined ? undefined : `${integration.provider}/${integration.name}`;
}

function notFound(): ServiceError {
  return new ServiceError('integration_not_found', { param: 'INTEGRATION_NAME' });
}

function checkPlace(provider: string, name: string): ProviderName {
  if (!isProviderName(provider)) throw new ServiceError('provider_not_found');
  if (!namePattern.test(name)) {
    throw invalidRequest(
      'INTEGRATION_NAME',
      `INTEGRATION_NAME must be 1 to ${integrationNameCharactersMax} lower-case letters, digits and hyphens.`,
    );
  }
  return provider;
}

/** Compares in constant time: reveals neither where the secrets differ nor their lengths. */
function equalSecrets(one: string, other: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}
