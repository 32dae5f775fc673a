import { defined } from '../defined.ts';
import { randomText } from '../random.ts';
import type { EncryptionContext, SealedRecords } from '../secrets/sealer.ts';
import type { Engine } from '../storage/engine.ts';
import { Records } from '../storage/records.ts';
import { type Integration, identityProviders, type ProviderName } from './types.ts';

/** The record in `service:integrations`, under `<provider>/<name>`. */
export interface StoredIntegration extends Omit<Integration, 'returnUrls' | 'scopes' | 'consoleApprovedAt'> {
  /** Both are absent if they have the default value. */
  readonly returnUrls?: readonly string[];
  readonly scopes?: readonly string[];
  readonly sealedSecret: string;
  /** Unique among all registrations; absent in records that are older than registration ids. */
  readonly registrationId?: string;
  /**
   * The approval for the console (`ConsoleApprovals`). Sign-ins to the console are bound to its id, which is new with
   * each approval.
   */
  readonly consoleApproval?: { readonly id: string; readonly at: string };
}

/** The registration to which tokens are bound. They end with it. */
export interface BoundRegistration {
  readonly id: string | undefined;
  /** The id of the integration's approval for the console; undefined if it has none. */
  readonly consoleApproval?: string | undefined;
  readonly returnUrls: readonly string[];
}

/** All registered integrations. */
export function integrationRecords(engine: Engine): Records<StoredIntegration> {
  return new Records(engine, 'integrations');
}

/** The client secrets in `service:integrations`. */
export const sealedClientSecrets: SealedRecords = {
  space: 'service:integrations',
  exchange(_id, text, exchange) {
    const stored = JSON.parse(text) as StoredIntegration;
    const place = secretPlace(stored.provider, stored.name);
    return JSON.stringify({ ...stored, sealedSecret: exchange(stored.sealedSecret, place) });
  },
};

/** The current registration of a name; undefined if there is none. */
export async function findRegistration(
  records: Records<StoredIntegration>,
  provider: ProviderName,
  name: string,
): Promise<BoundRegistration | undefined> {
  const stored = await records.get(`${provider}/${name}`);
  if (stored === undefined) return undefined;
  const { registrationId: id, consoleApproval, returnUrls = [] } = stored;
  return { id, consoleApproval: consoleApproval?.id, returnUrls };
}

/** The public fields, listed by name, so that no other field can leak. */
export function shown({
  name,
  provider,
  clientId,
  issuer,
  returnUrls = [],
  scopes,
  createdAt,
  consoleApproval,
}: StoredIntegration) {
  return {
    name,
    provider,
    clientId,
    ...defined({ issuer }),
    returnUrls,
    scopes: scopes ?? identityProviders[provider].defaultScopes,
    createdAt,
    ...(consoleApproval === undefined ? {} : { consoleApprovedAt: consoleApproval.at }),
  } satisfies Integration;
}

/** Unique among all registrations. */
export function newRegistrationId(): string {
  return randomText().slice(0, 22);
}

export function secretPlace(provider: ProviderName, name: string): EncryptionContext {
  return { record: 'integration', name: `${provider}/${name}`, field: 'client_secret' };
}
