import { audited, type Requester } from '../audit/audit.ts';
import { invalidRequest, ServiceError } from '../errors.ts';
import { randomText } from '../random.ts';
import type { Engine } from '../storage/engine.ts';
import type { Records } from '../storage/records.ts';
import {
  integrationRecords,
  newRegistrationId,
  type StoredIntegration,
  shown,
} from './stored-integration.ts';
import type { Integration } from './types.ts';

/** The client that the sender of an approval has checked. The approval fails if another client has just replaced it. */
export interface ApprovedClient {
  readonly clientId: string;
  /** Only for an integration that names an issuer (`oidc`). */
  readonly issuer?: string | undefined;
}

/** A registration that administrators are bound to. */
export interface ConsoleRegistration {
  readonly id: string;
  /** `provider/name` */
  readonly integration: string;
}

/**
 * Which integrations the console accepts. The holder of a key with `integrations:write` can register a client of the
 * administrators' issuer and control its sign-ins. So a key with the scope `admin`, or the command line, must approve
 * each client first.
 *
 * An approval is a field of the stored integration. It ends in the commit that removes the integration or gives it
 * another issuer. It also ends when a key without the scope `admin` gives the integration another client. Each approval
 * has an id, and sign-ins that were begun under another approval are void.
 */
export class ConsoleApprovals {
  readonly #records: Records<StoredIntegration>;
  readonly #now: () => number;

  constructor(engine: Engine, now: () => number) {
    this.#records = integrationRecords(engine);
    this.#now = now;
  }

  /**
   * Approves the client of an integration; durable when it resolves. An existing approval does not change. Rejects with
   * `integration_not_found`; with `precondition_failed` if the integration has another client or issuer; and with
   * `forbidden` for a caller of a service without keys, because a stranger behind a proxy may look like a local caller.
   */
  async approve(
    provider: string,
    name: string,
    client: ApprovedClient,
    requester: Requester,
  ): Promise<Integration> {
    if (requester.by === 'open') throw openService;
    return this.#change(provider, name, 'integration.approved', requester, (stored) => {
      if (stored.clientId !== client.clientId) throw otherClient('client_id');
      if (stored.issuer !== client.issuer) throw otherClient('issuer');
      if (stored.consoleApproval !== undefined) return undefined;
      const consoleApproval = { id: randomText().slice(0, 22), at: new Date(this.#now()).toISOString() };
      // Administrators are bound to the id, so a registration without one gets it now.
      return { ...stored, registrationId: stored.registrationId ?? newRegistrationId(), consoleApproval };
    });
  }

  /** Ends an approval, and the sessions of the console that depend on it. Rejects with `integration_not_found`. */
  withdraw(provider: string, name: string, requester: Requester): Promise<Integration> {
    return this.#change(provider, name, 'integration.approval_withdrawn', requester, (stored) => {
      const { consoleApproval, ...rest } = stored;
      return consoleApproval === undefined ? undefined : rest;
    });
  }

  /** All integrations, approved or not, by provider and name. Reads all records, so it is for commands. */
  async list(): Promise<readonly Integration[]> {
    return (await this.#all()).map(shown);
  }

  /**
   * The approved registration to which a new administrator is bound. Rejects with `invalid_request` if the named
   * integration is not approved, or if none is named and not exactly one is approved.
   *
   * @param integration `provider/name`; by default the only approved integration
   */
  async registrationFor(integration?: string): Promise<ConsoleRegistration> {
    if (integration !== undefined) {
      const found = await this.#registration(integration);
      if (found === undefined)
        throw invalidRequest(
          'integration',
          `${integration} is not approved for the console. ${howToApprove}`,
        );
      return found;
    }
    const approved = (await this.#all()).flatMap((stored) => consoleRegistration(stored) ?? []);
    const [only] = approved;
    if (only === undefined)
      throw invalidRequest('integration', `No integration is approved for the console. ${howToApprove}`);
    if (approved.length === 1) return only;
    const names = approved.map((each) => each.integration).join(', ');
    throw invalidRequest(
      'integration',
      `Several integrations are approved for the console: name one of ${names}.`,
    );
  }

  /** Of the registrations to which administrators are bound, those that are current and approved. */
  async accepted(bound: readonly ConsoleRegistration[]): Promise<readonly ConsoleRegistration[]> {
    const distinct = new Map(bound.map((each) => [`${each.integration} ${each.id}`, each]));
    const found = await Promise.all(
      [...distinct.values()].map(async (each) => {
        const current = await this.#registration(each.integration);
        return current?.id === each.id ? [current] : [];
      }),
    );
    return found.flat();
  }

  async #registration(integration: string): Promise<ConsoleRegistration | undefined> {
    const stored = await this.#records.get(integration);
    return stored && consoleRegistration(stored);
  }

  async #change(
    provider: string,
    name: string,
    what: 'integration.approved' | 'integration.approval_withdrawn',
    requester: Requester,
    changed: (stored: StoredIntegration) => StoredIntegration | undefined,
  ): Promise<Integration> {
    const id = `${provider}/${name}`;
    // If somebody changes the integration meanwhile, the client is compared again.
    const { value } = await this.#records.change(id, (before) => {
      if (before === undefined)
        throw new ServiceError('integration_not_found', { param: 'INTEGRATION_NAME' });
      const after = changed(before);
      return after && { value: after, also: [audited({ what, on: id, ...requester }, this.#now())] };
    });
    return shown(value as StoredIntegration);
  }

  async #all(): Promise<readonly StoredIntegration[]> {
    const found: StoredIntegration[] = [];
    for await (const { value } of this.#records.list()) found.push(value);
    return found;
  }
}

/** The registration of an integration for the console; undefined unless the integration is approved. */
function consoleRegistration(stored: StoredIntegration): ConsoleRegistration | undefined {
  const { registrationId: id, consoleApproval, provider, name } = stored;
  if (consoleApproval === undefined || id === undefined) return undefined;
  return { id, integration: `${provider}/${name}` };
}

const howToApprove =
  'Approve it first with "npx counterfoil integrations approve PROVIDER/NAME --client-id ID".';

function otherClient(param: string): ServiceError {
  return new ServiceError('precondition_failed', {
    param,
    message: `The integration has another ${param} than this one; nothing was approved. Look at the integration again.`,
  });
}

const openService = new ServiceError('forbidden', {
  message:
    'A service without API keys approves no integration over HTTP. Approve it on the machine of the service with ' +
    '"npx counterfoil integrations approve PROVIDER/NAME --client-id ID".',
});
