import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError, TransientError } from '../errors.ts';
import type { ServedRoute } from '../http/server/route-table.ts';
import { stopMsMax, storeCloseMsMin } from '../lifecycle.ts';
import { type Log, openLog } from '../log.ts';
import { openMasterKeys } from '../secrets/master-keys.ts';
import { Sealer } from '../secrets/sealer.ts';
import type { Settings } from '../settings/schema.ts';
import { checkIsWhole } from '../storage/copying/marker.ts';
import type { Engine } from '../storage/engine.ts';
import type { Metrics, MetricsSnapshot } from '../telemetry.ts';
import { openAccess } from './access.ts';
import {
  type EngineOptions,
  metricsText,
  openEngine,
  openMetrics,
  openProcessors,
  openSimulation,
  openTraces,
} from './adapters.ts';
import { openApps } from './apps.ts';
import { type Backups, startBackups } from './backups/start.ts';
import { RunningDoctor } from './doctor/doctor.ts';
import { masterKeySource, openDomains, startJobs } from './domains.ts';
import { startRetryMsMax, startRetryPauseMs } from './limits.ts';
import { type ListenerSettings, Listeners } from './listeners.ts';
import { checkReady } from './readiness.ts';

/** Builds the service: settings → engine → domains → HTTP apps. */

export interface ServiceOptions extends ListenerSettings {
  /** Whether the simulated processor is served. */
  readonly simulate: boolean;
  readonly log?: Log;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
  /** After this silence another owner of charges counts as dead; the limit of the same name by default. */
  readonly ownerSilenceMsMax?: number;
  /** The number of this service's processes on this machine; 1 by default. */
  readonly processes?: number;
  /** The time limit of a distributed engine's call with its retries; the engine's limit by default. */
  readonly storeCallMsMax?: number;
  /** With less free space the disk counts as full; the limit of the same name by default. */
  readonly diskReserveBytes?: number;
  /** After this time a flush of the embedded store counts as hung; the limit of the same name by default. */
  readonly flushMsMax?: number;
  /** How long a slow read may hold its snapshot of the embedded store; the limits of the same names by default. */
  readonly snapshots?: EngineOptions['snapshots'];
  /** Collects the metrics of all processes of the service; by default only of this one. */
  readonly gatherMetrics?: GatherMetrics;
}

/**
 * For a service of several processes: takes the snapshot function of this one and returns a function for the snapshots of
 * all. That function rejects with `unavailable` if a process does not reply in time.
 */
export type GatherMetrics = (own: () => MetricsSnapshot) => () => Promise<readonly MetricsSnapshot[]>;

export interface Service {
  /** The service's origin, `http://host:port`. */
  readonly origin: string;
  /** The origin of payments; the same as `origin` unless payments have a separate listener. */
  readonly paymentOrigin: string;
  /** Whether programs on this machine need no API key. */
  readonly isOpen: boolean;
  /** All routes of its HTTP apps, and what a request on them needs. */
  readonly routes: readonly ServedRoute[];
  /** Graceful shutdown: finishes running work and closes the store; resolves within 10 s. */
  stop(): Promise<void>;
}

const ownOnly: GatherMetrics = (own) => async () => [own()];

/**
 * Starts the service. Throws SettingsError if the settings do not match the data folder, and TransientError if something that it needs
 * cannot be reached for `startRetryMsMax`.
 */
export async function startService(settings: Settings, options: ServiceOptions): Promise<Service> {
  const { log = openLog(settings.logLevel), now = Date.now } = options;
  const prometheus = openMetrics(settings, now);
  const gather = (options.gatherMetrics ?? ownOnly)(prometheus.snapshot);
  const listeners = await retryStart(log, () => Listeners.open(settings, options));
  let engine: Engine | undefined;
  try {
    const masterKeys = masterKeySource(settings);
    const traces = await openTraces(settings);
    const store = await retryStart(log, () =>
      openWholeStore(settings, options, { log, metrics: prometheus.metrics }),
    );
    engine = store;
    const simulation = options.simulate
      ? openSimulation(settings, findPaymentOrigin(settings, listeners))
      : undefined;
    const processors = await openProcessors(settings, simulation, options.processes);
    const access = await openAccess(settings, store, processors.values(), log, now);
    const keys = await retryStart(log, () => openMasterKeys(store, masterKeys, now()));
    const sealer = new Sealer(keys);
    const shared = { log, metrics: prometheus.metrics, now };
    const domains = openDomains(settings, {
      ...shared,
      engine: store,
      sealer,
      traces,
      cardTesting: access.cardTesting,
      processors,
      challenges: simulation?.challenges,
      ownerSilenceMsMax: options.ownerSilenceMsMax,
      origin: settings.publicUrl ?? listeners.origin,
      signIns: access.signIns,
    });

    let isStopping = false;
    let backups: Backups | undefined;
    const doctor = new RunningDoctor(settings, {
      engine: store,
      keys,
      source: masterKeys,
      processors: domains.payments.processors,
      backups: () => requireStarted(backups),
      log,
      now,
    });
    const ready = { engine: store, masterKeys, isShedding: () => listeners.isShedding() };
    const apps = await openApps(settings, listeners, {
      ...shared,
      domains,
      access,
      isStopping: () => isStopping,
      checkReady: () => checkReady(ready, isStopping),
      examine: () => doctor.examine(),
      // They begin when the service can be called.
      backups: {
        report: () => requireStarted(backups).report(),
        make: (requester) => requireStarted(backups).make(requester),
      },
      metricsText: async () => metricsText(await gather()),
    });
    backups = await startBackups(settings, { ...shared, engine: store });
    const jobs = startJobs(settings, domains, access, log);
    await listeners.begin();

    return {
      origin: listeners.origin,
      paymentOrigin: listeners.paymentOrigin,
      isOpen: access.isOpen(),
      routes: apps.flatMap(({ routes }) => routes),
      stop: async () => {
        isStopping = true;
        await stopInTime(
          async () => {
            await Promise.all([listeners.stop(), domains.payments.stop(), ...jobs.map((job) => job.stop())]);
            await Promise.all(apps.map((app) => app.close()));
          },
          async () => {
            await Promise.all([domains.payments.close(), traces.close(), backups?.stop()]);
            await store.close();
          },
        );
        prometheus.close();
        log.flush();
      },
    };
  } catch (error) {
    await listeners.stop();
    await engine?.close();
    prometheus.close();
    throw error;
  }
}

/** The address is not there yet, or its name cannot be resolved. */
const addressErrors: readonly unknown[] = ['EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN'];

/**
 * Runs a step of the start, and retries it while its failure may be temporary. Logs each such failure. After `startRetryMsMax` it
 * throws the last one.
 */
export async function retryStart<Result>(log: Log, step: () => Promise<Result>): Promise<Result> {
  const end = performance.now() + startRetryMsMax;
  for (;;) {
    try {
      return await step();
    } catch (error) {
      if (!isTemporary(error) || performance.now() >= end) throw error;
      const { message, details } = error as Error & Partial<ServiceError>;
      log.warn('start_delayed', { detail: details?.detail ?? message });
      await sleep(startRetryPauseMs);
    }
  }
}

function isTemporary(error: unknown): boolean {
  if (error instanceof TransientError) return true;
  if (error instanceof ServiceError) return error.code === 'unavailable' || error.code === 'overloaded';
  return addressErrors.includes((error as NodeJS.ErrnoException).code);
}

/** Throws `unavailable` before the end of the start. */
function requireStarted<Part>(part: Part | undefined): Part {
  if (part === undefined) throw new ServiceError('unavailable');
  return part;
}

/** Throws SettingsError if a copy into the store was not finished. */
async function openWholeStore(
  settings: Settings,
  { diskReserveBytes, flushMsMax, snapshots, storeCallMsMax: callMsMax }: ServiceOptions,
  { log, metrics }: { readonly log: Log; readonly metrics: Metrics },
): Promise<Engine> {
  const embedded = { diskReserveBytes, flushMsMax, snapshots };
  const engine = await openEngine(settings, log, { metrics, ...embedded, callMsMax });
  try {
    await checkIsWhole(engine);
  } catch (error) {
    await engine.close();
    throw error;
  }
  return engine;
}

/**
 * Finishes the work, then closes the store, within `stopMsMax`. Closing has at least `storeCloseMsMin`; a remote store may hang,
 * and recovery handles a write that was lost.
 */
async function stopInTime(finishWork: () => Promise<void>, closeStore: () => Promise<void>): Promise<void> {
  const done = new AbortController();
  const { signal } = done;
  const outOfTime = sleep(stopMsMax - storeCloseMsMin, undefined, { signal }).catch(() => undefined);
  await finishWork();
  await Promise.race([closeStore(), Promise.all([outOfTime, sleep(storeCloseMsMin)])]);
  // A running timer would keep the process alive.
  done.abort();
}

/** The public URL is that of the main listener. */
function findPaymentOrigin(
  { publicUrl }: Settings,
  { areSeparate, origin, paymentOrigin }: Listeners,
): string {
  return areSeparate ? paymentOrigin : (publicUrl ?? origin);
}
