import { defined } from '../defined.ts';
import type { Engine, Write } from '../storage/engine.ts';
import type { Records } from '../storage/records.ts';
import { ConsoleApprovals } from './console-approvals.ts';
import type { IntegrationClient } from './integrations.ts';
import { consoleProofMs } from './limits.ts';
import { isSessionCookie, recordId, sessionRecords } from './sessions.ts';
import { NotAdministrator, SignInError } from './sign-in-error.ts';
import { findRegistration, integrationRecords, type StoredIntegration } from './stored-integration.ts';
import { type Identity, isOver, type Session, userKey } from './types.ts';

/** A person who has signed in to the console. */
export interface SignedInPerson {
  /** The id of the user. */
  readonly user: string;
  /** The id of the registration by which the person has signed in. */
  readonly registration: string;
  readonly name?: string;
}

/** A sign-in that is not exchanged for a session of the console yet. */
export interface ProvenSignIn extends SignedInPerson {
  readonly id: string;
  /**
   * The write that exchanges the sign-in. The engine rejects it if the sign-in is exchanged already or has ended.
   *
   * @param until milliseconds since 1970
   */
  use(until: number): Write;
}

export interface ConsoleSignInsOptions {
  readonly engine: Engine;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Whether a user may sign in to the console with a registration. */
  readonly isAdministrator: (user: string, registration: string) => Promise<boolean>;
}

/**
 * Sign-ins to the console. Each is a record in the same space as the sessions of the app, so that it ends for the same
 * reasons: the user is deleted or signs out everywhere, an operator ends it, the provider sends a logout token, or the
 * integration ends. The session of the console (`access/`) ends with its sign-in.
 */
export class ConsoleSignIns {
  /** Which integrations the console accepts. */
  readonly approvals: ConsoleApprovals;
  readonly #sessions: Records<Session>;
  readonly #integrations: Records<StoredIntegration>;
  readonly #now: () => number;
  readonly #isAdministrator: ConsoleSignInsOptions['isAdministrator'];

  constructor({ engine, now, isAdministrator }: ConsoleSignInsOptions) {
    this.approvals = new ConsoleApprovals(engine, now);
    this.#sessions = sessionRecords(engine);
    this.#integrations = integrationRecords(engine);
    this.#now = now;
    this.#isAdministrator = isAdministrator;
  }

  /**
   * The fields that make a person's session record a proof, which is valid for `consoleProofMs`. Throws SignInError
   * `not_approved`, and NotAdministrator for everybody who is no administrator. Nothing is written.
   *
   * @param client the client that proved the identity, as read before the exchange of the code
   */
  async admit(
    { consoleApproval, registrationId }: Pick<IntegrationClient, 'consoleApproval' | 'registrationId'>,
    identity: Identity,
  ): Promise<Required<Pick<Session, 'console' | 'consoleApproval' | 'endsAt'>>> {
    if (consoleApproval === undefined || registrationId === undefined) throw new SignInError('not_approved');
    if (!(await this.#isAdministrator(userKey(identity), registrationId)))
      throw new NotAdministrator(identity);
    return { console: 'proven', consoleApproval, endsAt: this.#now() + consoleProofMs };
  }

  /** The sign-in with this proof; undefined if it never existed, is exchanged already, or has ended. */
  async findProven(proof: string | undefined): Promise<ProvenSignIn | undefined> {
    if (proof === undefined || !isSessionCookie(proof)) return undefined;
    const id = recordId(proof);
    const found = await this.#read(id, 'proven');
    if (found === undefined) return undefined;
    const { stored } = found;
    const use = (until: number): Write =>
      this.#sessions.replacement(stored, { ...stored.value, console: 'exchanged', endsAt: until });
    return { ...found.person, id, use };
  }

  /** The person of an exchanged sign-in; undefined if the sign-in has ended. */
  async find(id: string): Promise<SignedInPerson | undefined> {
    const found = await this.#read(id, 'exchanged');
    return found?.person;
  }

  /** The write that ends an exchanged sign-in. The engine rejects it if the sign-in has ended. */
  end(id: string): Write {
    return { kind: 'delete', space: this.#sessions.space, id };
  }

  async #read(id: string, state: NonNullable<Session['console']>) {
    const stored = await this.#sessions.find(id);
    if (stored === undefined) return undefined;
    const session = stored.value;
    if (session.console !== state || isOver(session, this.#now())) return undefined;
    const { provider, integration } = session.identity;
    const registration = await findRegistration(this.#integrations, provider, integration);
    // A sign-in ends when its registration is replaced or loses its approval, even if it is approved again.
    if (registration?.id === undefined || registration.id !== session.registrationId) return undefined;
    const { consoleApproval: approval } = registration;
    if (approval === undefined || approval !== session.consoleApproval) return undefined;
    return { stored, person: signedInPerson(session, registration.id) };
  }
}

function signedInPerson({ identity }: Session, registration: string): SignedInPerson {
  const { name } = identity;
  return { user: userKey(identity), registration, ...defined({ name }) };
}
