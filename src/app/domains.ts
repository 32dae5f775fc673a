import { type Repeated, repeat } from '../lifecycle.ts';
import type { Log } from '../log.ts';
import { Payments, type PaymentsOptions, sealedTokens } from '../payments/payments.ts';
import type { RoutePolicy } from '../payments/types.ts';
import type { Challenges } from '../processors/challenges.ts';
import type { MasterKeySource } from '../secrets/master-keys.ts';
import type { SealedRecords } from '../secrets/sealer.ts';
import { tablePolicy } from '../settings/load.ts';
import type { Settings } from '../settings/schema.ts';
import { endingRecoveryMs, exchangeRepeatMsMax } from '../sign-in/limits.ts';
import { type ConsoleSignIns, SignIn, sealedClientSecrets, sealedSigningKeys } from '../sign-in/sign-in.ts';
import type { Engine } from '../storage/engine.ts';
import { Tables } from '../tables/tables.ts';
import type { AccessParts } from './access.ts';
import { openIdentityProviders, privateHosts } from './adapters.ts';
import {
  declinesSweepMs,
  distantRecoveryIntervalMs,
  oneTimeIdSweepMs,
  recoveryIntervalMs,
  sessionSweepMs,
  tokenSweepIntervalMs,
} from './limits.ts';

/** Builds each domain from the settings. */

/** All sealed secrets of the store: a rotation rewraps these. Sealed cookies are not among them: they expire in 10 minutes. */
export const sealedRecords: readonly SealedRecords[] = [sealedClientSecrets, sealedTokens, sealedSigningKeys];

export function masterKeySource({ masterKeys, masterKeyCommand, data }: Settings): MasterKeySource {
  return { settings: masterKeys, command: masterKeyCommand, dataFolder: data };
}

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
    signIns,
    challenges,
    ...parts
  }: Omit<OpenPaymentsOptions, 'tables'> &
    Pick<SignInOptions, 'origin' | 'signIns'> &
    Pick<Domains, 'challenges'>,
): Domains {
  const tables = openTables(settings, parts.engine);
  return {
    tables,
    payments: openPayments(settings, { ...parts, tables }),
    signIn: openSignIn(settings, { ...parts, origin, signIns }),
    challenges,
  };
}

/** The tables, with the settings' rules. */
export function openTables(settings: Settings, engine: Engine): Tables {
  return new Tables(engine, { tables: tablePolicy(settings), declared: settings.tables.declared });
}

interface SignInOptions extends Pick<PaymentsOptions, 'engine' | 'sealer' | 'metrics' | 'now'> {
  /** The service's origin for browsers. */
  readonly origin: string;
  /** The sign-ins to the console. */
  readonly signIns: ConsoleSignIns;
}

/** Sign-in, with every identity provider. */
function openSignIn(settings: Settings, { signIns, ...parts }: SignInOptions): SignIn {
  const named = privateHosts(settings);
  return new SignIn({
    ...parts,
    console: signIns,
    providers: openIdentityProviders(settings),
    isNamed: (host) => named.names(host),
    prefix: settings.basePath,
  });
}

type OpenPaymentsOptions = { readonly tables: Tables } & Omit<
  PaymentsOptions,
  'routes' | 'authenticationMs' | 'retryMs' | 'itemWrite' | 'itemDeletion'
>;

/** Payments, with the routes and the times of the settings. */
export function openPayments(settings: Settings, { tables, ...parts }: OpenPaymentsOptions): Payments {
  return new Payments({
    ...parts,
    routes: paymentRoutes(settings),
    authenticationMs: settings.payments.authenticationSeconds * 1_000,
    retryMs: settings.payments.retrySeconds * 1_000,
    itemWrite: (table, item) => tables.creation(table, item),
    itemDeletion: (table, item) => tables.deletion(table, item),
  });
}

function paymentRoutes({ payments }: Settings): Map<string, RoutePolicy> {
  // The settings' schema has validated the sources of items and prices.
  return new Map(Object.entries(payments.routes as Record<string, RoutePolicy>));
}

/** Starts what every process does in the background: it recovers what dead processes left, and removes what has expired. */
export function startJobs(
  { store }: Settings,
  { payments, signIn }: Domains,
  { cardTesting, console }: AccessParts,
  log: Log,
): readonly Repeated[] {
  const recoveryMs = store === 'lmdb' ? recoveryIntervalMs : distantRecoveryIntervalMs;
  return [
    repeat(recoveryMs, (signal) => payments.recover(signal), log),
    repeat(oneTimeIdSweepMs, (signal) => signIn.sweepOneTimeIds(signal), log),
    repeat(oneTimeIdSweepMs, (signal) => signIn.people.sweepEndings(signal), log),
    repeat(sessionSweepMs, (signal) => signIn.people.sweepSessions(signal), log),
    repeat(endingRecoveryMs, (signal) => signIn.people.recoverEndings(signal), log),
    repeat(tokenSweepIntervalMs, (signal) => signIn.sweepTokens(signal), log),
    repeat(exchangeRepeatMsMax, () => signIn.sweepCodes(), log),
    repeat(declinesSweepMs, (signal) => cardTesting.sweep(signal), log),
    ...(console === undefined
      ? []
      : [repeat(sessionSweepMs, (signal) => console.sessions.sweep(signal), log)]),
  ];
}
