import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { isLoopback } from '../addresses.ts';
import { SettingsError } from '../errors.ts';
import { PrivateHosts } from '../identity/addresses.ts';
import type { IdentityProvider } from '../identity/provider.ts';
import { type Log, openLastLog } from '../log.ts';
import type { ConnectedProcessor, ProcessorName } from '../processors/processor.ts';
import { openSimulation as makeSimulation, type Simulation } from '../processors/simulated/simulation.ts';
import { squareProcessor } from '../processors/square/square.ts';
import { stripeProcessor } from '../processors/stripe/stripe.ts';
import { openPrometheus, type Prometheus } from '../prometheus/prometheus.ts';
import type { Settings } from '../settings/schema.ts';
import type { ProviderName } from '../sign-in/types.ts';
import type { NamedEngine } from '../storage/copying/copy.ts';
import type { DynamoSettings, TableMade } from '../storage/dynamodb/open.ts';
import type { Engine } from '../storage/engine.ts';
import { type Progress, type Verified, verifyStore } from '../storage/lmdb/file/verify.ts';
import {
  type LmdbOptions,
  noteLoss,
  openLmdbEngine,
  storeFile,
  verifyAfterLoss,
} from '../storage/lmdb/open.ts';
import { processesOn, renewStoreId } from '../storage/lmdb/store.ts';
import { ObservedEngine } from '../storage/observed.ts';
import { type Metrics, noMetrics, noTraces, type Traces } from '../telemetry.ts';
import { version } from '../version.ts';
import { optional } from './optional.ts';

export { metricsText } from '../prometheus/prometheus.ts';
export { compactFile } from '../storage/lmdb/file/compact-file.ts';
export { type Recovered, recoverStore } from '../storage/lmdb/file/recover/recover.ts';

/**
 * The only file, beside `backups/adapters.ts`, that imports adapters. It opens the engine, processors and identity providers of the
 * settings.
 */

/** Opens the engine of the settings. Throws SettingsError if the store is damaged or not ours, TransientError if it cannot be reached. */
export async function openEngine(
  settings: Settings,
  log: Log,
  { metrics = noMetrics, callMsMax, ...embedded }: EngineOptions = {},
): Promise<Engine> {
  if (settings.store !== 'dynamodb') {
    const flushed = (ms: number, commits: number) => metrics.flush(ms, commits);
    const damaged = () => metrics.storeDamaged();
    const snapshots = { ...embedded.snapshots, ended: () => metrics.readCutOff() };
    const engine = await openEmbedded(settings, log, { ...embedded, flushed, damaged, snapshots });
    return new ObservedEngine(engine, metrics);
  }
  const { openDynamoEngine } = await optional('store', () => import('../storage/dynamodb/open.ts'));
  return new ObservedEngine(await openDynamoEngine({ ...dynamoSettings(settings), callMsMax }), metrics);
}

/** The limits of an embedded store are its own by default. */
export interface EngineOptions extends Pick<LmdbOptions, 'diskReserveBytes' | 'flushMsMax' | 'snapshots'> {
  readonly metrics?: Metrics;
  /** For a distributed engine: the time limit of a call with its retries; the engine's limit by default. */
  readonly callMsMax?: number | undefined;
}

/** The metrics of this process, for `/metrics`. @param now milliseconds since 1970 */
export function openMetrics({ store, data }: Settings, now: () => number): Prometheus {
  return openPrometheus({ now, dataFolder: store === 'lmdb' ? resolve(data) : undefined });
}

/** Traces, if the settings have a collector; only then are its libraries loaded. */
export async function openTraces({ traces }: Settings): Promise<Traces> {
  if (traces.endpoint === undefined) return noTraces;
  const { openTelemetryTraces } = await optional(
    'traces.endpoint',
    () => import('../opentelemetry/traces.ts'),
  );
  return openTelemetryTraces(traces.endpoint, version);
}

/** Makes the tables of a distributed engine. Throws SettingsError for an embedded store, which needs none. */
export async function initStore(settings: Settings): Promise<readonly TableMade[]> {
  if (settings.store !== 'dynamodb')
    throw new SettingsError([
      'store (COUNTERFOIL_STORE): the embedded store is made when it is first opened',
    ]);
  const { initDynamo } = await optional('store', () => import('../storage/dynamodb/open.ts'));
  return initDynamo(dynamoSettings(settings));
}

function dynamoSettings({ dynamodb, tables }: Settings): DynamoSettings {
  return { ...dynamodb, declared: tables.declared };
}

/** A store named on the command line. */
export type StorePlace = { readonly kind: 'lmdb'; readonly folder: string } | { readonly kind: 'dynamodb' };

/**
 * Opens a store for a command that needs it exclusively. Throws SettingsError if it is unavailable, or if another process
 * has it open. For a distributed store the latter cannot be checked.
 */
export async function openStoreAt(
  settings: Settings,
  place: StorePlace,
  { isMade, log }: { readonly isMade: boolean; readonly log: Log },
): Promise<NamedEngine> {
  if (place.kind === 'dynamodb') {
    const { endpoint, region = process.env.AWS_REGION, tablePrefix } = settings.dynamodb;
    const name = ['dynamodb', endpoint, region, tablePrefix].filter(Boolean).join(' ');
    return { name, engine: await openEngine({ ...settings, store: 'dynamodb' }, log) };
  }
  const embedded = { ...settings, store: 'lmdb', data: place.folder } as const;
  const pids = await processesOn(isMade ? storeFile(place.folder) : existingStore(embedded));
  if (pids.length > 0)
    throw new SettingsError([
      `lmdb:${place.folder}: process ${pids.join(', ')} has it open; stop the service first`,
    ]);
  const engine = await openEngine(embedded, log);
  return { name: `lmdb:${realpathSync(place.folder)}`, engine };
}

async function openEmbedded(
  { data, logLevel: level }: Settings,
  log: Log,
  options: LmdbOptions,
): Promise<Engine> {
  const folder = resolve(data);
  await verifyAfterLoss(folder);
  const lost = (error: Error) => {
    noteLoss(folder);
    log.flush();
    openLastLog(level).error('store_lost', { detail: error.message });
    // The library has corrupted memory that a normal exit would use.
    process.kill(process.pid, 'SIGKILL');
  };
  const damaged = (detail: string) => {
    log.error('store_damaged', { detail });
    options.damaged?.(detail);
  };
  return openLmdbEngine(folder, lost, { ...options, damaged });
}

/** Verifies the store of a data folder. Throws SettingsError if there is none, or it is not ours. */
export async function verifyData(settings: Settings, progress: Progress): Promise<Verified> {
  return verifyStore(existingStore(settings), progress);
}

/** Throws SettingsError unless the settings have the embedded store. */
export function requireEmbedded({ store }: Settings): void {
  if (store !== 'lmdb')
    throw new SettingsError(['store (COUNTERFOIL_STORE): this command needs the embedded store']);
}

/** The embedded store's file. Throws SettingsError if there is none: a command makes no new store. */
export function existingStore(settings: Settings): string {
  requireEmbedded(settings);
  const { data } = settings;
  const file = storeFile(resolve(data));
  if (!existsSync(file)) throw new SettingsError([`data (COUNTERFOIL_DATA): there is no store at ${file}`]);
  return file;
}

/** Call it after a store was copied or restored, while no process has it open: earlier ETags become invalid. */
export async function renewStore(place: StorePlace): Promise<void> {
  if (place.kind === 'lmdb') await renewStoreId(storeFile(place.folder));
}

/** The name of the file with the ledger of the simulated processor. It is in the data folder, but not part of the store. */
export const simulatedLedger = 'simulated-ledger.jsonl';
function ledgerFile({ data }: Settings): string {
  return join(resolve(data), simulatedLedger);
}

/** Whether a service has served the simulated processor on these settings, so that its payments can be managed. */
export function hasSimulatedLedger(settings: Settings): boolean {
  return settings.simulated.ledger !== undefined || existsSync(ledgerFile(settings));
}

/** @param origin under which browsers reach the pages of the simulated bank */
export function openSimulation(settings: Settings, origin: string): Simulation {
  return makeSimulation({
    file: ledgerFile(settings),
    ledgerOrigin: settings.simulated.ledger,
    pages: `${origin}${settings.payments.basePath}/stage/challenge/`,
  });
}

/**
 * Every known processor; undefined for one without a key.
 *
 * @param simulation undefined if the simulated processor is not served
 * @param processes the number of processes on this machine that recover charges and share each processor's rate limit
 */
export async function openProcessors(
  settings: Settings,
  simulation: Simulation | undefined,
  processes = 1,
): Promise<Map<string, ConnectedProcessor | undefined>> {
  const { stripe, square } = settings;
  const [key, accessToken] = [stripe.key, square.accessToken];
  const processors = new Map<ProcessorName, ConnectedProcessor | undefined>();
  processors.set(
    'stripe',
    key === undefined ? undefined : await stripeProcessor({ ...stripe, key, processes }),
  );
  processors.set(
    'square',
    accessToken === undefined ? undefined : await squareProcessor({ ...square, accessToken, processes }),
  );
  if (simulation !== undefined) processors.set('simulated', simulation.processor);
  return processors;
}

/** Microsoft's issuer for the accounts of all tenants. */
const microsoftIssuer = 'https://login.microsoftonline.com/common/v2.0';

/** The operator's private hosts and networks, in which identity providers may be. */
export function privateHosts({ privateIssuers }: Settings): PrivateHosts {
  return new PrivateHosts(privateIssuers);
}

/** Every known identity provider; their libraries are loaded at the first sign-in. */
export function openIdentityProviders(settings: Settings): Record<ProviderName, IdentityProvider> {
  const { host, publicUrl, privateIssuers, privateCa, github } = settings;
  // With a public URL, callers are not on this machine, even if the proxy is.
  const isLocal = isLoopback(host) && (publicUrl === undefined || isLoopback(new URL(publicUrl).hostname));
  const ca = privateCa === undefined ? undefined : readFileSync(privateCa, 'utf8');
  const fetchFor = async () => {
    const { outbound } = await import('../identity/outbound.ts');
    return (issuer: URL) =>
      outbound({ loopback: isLocal && isLoopback(issuer.hostname), privateIssuers, ca });
  };
  const named = privateHosts(settings);
  const isNamed = (host: string) => named.names(host);
  const oidc = (issuer?: string) =>
    whenFirstUsed(async () => {
      const { oidcProvider } = await import('../identity/oidc.ts');
      const options = { fetchFor: await fetchFor(), isNamed };
      return oidcProvider(issuer === undefined ? options : { ...options, issuer });
    });
  return {
    google: oidc('https://accounts.google.com'),
    microsoft: oidc(microsoftIssuer),
    oidc: oidc(),
    github: whenFirstUsed(async () => {
      const { githubProvider } = await import('../identity/github.ts');
      const fetch = (await fetchFor())(new URL(github.url));
      return githubProvider({ origin: github.url, fetch });
    }),
  };
}

function whenFirstUsed(open: () => Promise<IdentityProvider>): IdentityProvider {
  let opened: Promise<IdentityProvider> | undefined;
  const provider = () => {
    opened ??= open();
    return opened;
  };
  return {
    discover: async (...given) => (await provider()).discover(...given),
    begin: async (...given) => (await provider()).begin(...given),
    finish: async (...given) => (await provider()).finish(...given),
    signOutUrl: async (...given) => (await provider()).signOutUrl(...given),
    readLogoutToken: async (...given) => (await provider()).readLogoutToken(...given),
  };
}
