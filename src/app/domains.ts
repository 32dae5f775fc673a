import { Payments, type PaymentsOptions } from '../payments/payments.ts';
import type { RoutePolicy } from '../payments/types.ts';
import type { Challenges } from '../processors/challenges.ts';
import { tablePolicy } from '../settings/load.ts';
import type { Settings } from '../settings/schema.ts';
import { AccessEnding } from '../sign-in/access-ending.ts';
import { ConsoleApprovals } from '../sign-in/console-approvals.ts';
import type { SignInContext } from '../sign-in/context.ts';
import { Integrations } from '../sign-in/integrations.ts';
import { OneTimeIds } from '../sign-in/one-time-ids.ts';
import { PendingSignIns } from '../sign-in/pending-sign-ins.ts';
import { Sessions } from '../sign-in/sessions.ts';
import { SigningKeys } from '../sign-in/tokens/signing-keys.ts';
import { TokenGrants } from '../sign-in/tokens/token-grants.ts';
import { Users } from '../sign-in/users.ts';
import type { Engine } from '../storage/engine.ts';
import { Tables } from '../tables/tables.ts';
import { openIdentityProviders, privateHosts } from './adapters.ts';

/** Builds each domain from the settings. */

export interface Domains {
  readonly tables: Tables;
  readonly payments: Payments;
  readonly signIn: SignIn;
  /** Those of the simulated processor's bank, if it is served. */
  readonly challenges: Challenges | undefined;
}

/** All domains of a service. */
export function openDomains(
  settings: Settings,
  {
    origin,
    isAdministrator,
    challenges,
    ...parts
  }: Omit<OpenPaymentsOptions, 'tables'> &
    Pick<SignInOptions, 'origin' | 'isAdministrator'> &
    Pick<Domains, 'challenges'>,
): Domains {
  const tables = openTables(settings, parts.engine);
  return {
    tables,
    payments: openPayments(settings, { ...parts, tables }),
    signIn: openSignIn(settings, { ...parts, origin, isAdministrator }),
    challenges,
  };
}

/** The tables, with the settings' rules. */
export function openTables(settings: Settings, engine: Engine): Tables {
  return new Tables(engine, { tables: tablePolicy(settings), declared: settings.tables.declared });
}

interface SignInOptions
  extends Pick<PaymentsOptions, 'engine' | 'sealer' | 'log' | 'metrics' | 'now'>,
    Pick<SignInContext, 'isAdministrator'> {
  /** The service's origin for browsers. */
  readonly origin: string;
}

export interface SignIn extends SignInContext {
  readonly appTokens: TokenGrants;
  readonly signingKeys: SigningKeys;
}

/** The context of sign-in, and of tokens for external apps. */
export function openSignIn(
  settings: Settings,
  { engine, sealer, log, metrics, now, origin, isAdministrator }: SignInOptions,
): SignIn {
  const named = privateHosts(settings);
  const integrations = new Integrations(engine, sealer, now, (host) => named.names(host));
  const oneTimeIds = new OneTimeIds(engine, now);
  const signingKeys = new SigningKeys({ engine, sealer, now });
  const appTokens = new TokenGrants({
    engine,
    keys: signingKeys,
    issuer: origin + settings.basePath,
    findRegistration: (provider, name) => integrations.findRegistration(provider, name),
    now,
  });
  return {
    integrations,
    pending: new PendingSignIns({ engine, sealer, oneTimeIds, now }),
    oneTimeIds,
    sessions: new Sessions(engine, now),
    users: new Users(engine, now),
    accessEnding: new AccessEnding(engine, now),
    consoleApprovals: new ConsoleApprovals(engine, now),
    providers: openIdentityProviders(settings),
    appTokens,
    isAdministrator,
    signingKeys,
    origin,
    prefix: settings.basePath,
    log,
    metrics,
    now,
  };
}

type OpenPaymentsOptions = { readonly tables: Tables } & Omit<
  PaymentsOptions,
  'routes' | 'authenticationMs' | 'retryMs' | 'itemWrite' | 'itemDeletion'
>;

/** Payments, with the routes and the times of the settings. */
export function openPayments(settings: Settings, { tables, ...parts }: OpenPaymentsOptions): Payments {
  return new Payments({
    ...parts,
    routes: routesOf(settings),
    authenticationMs: settings.payments.authenticationSeconds * 1_000,
    retryMs: settings.payments.retrySeconds * 1_000,
    itemWrite: (table, item) => tables.creation(table, item),
    itemDeletion: (table, item) => tables.deletion(table, item),
  });
}

function routesOf({ payments }: Settings): Map<string, RoutePolicy> {
  // The settings' schema has validated the sources of items and prices.
  return new Map(Object.entries(payments.routes as Record<string, RoutePolicy>));
}
