import { setTimeout as sleep } from 'node:timers/promises';
import { documentationRoutes } from '../http/routes/documentation.ts';
import { operationRoutes } from '../http/routes/health.ts';
import { integrationListRoutes, integrationRoutes } from '../http/routes/integrations.ts';
import { metricsRoutes } from '../http/routes/metrics.ts';
import { paymentRoutes } from '../http/routes/payments.ts';
import { sessionRoutes } from '../http/routes/session.ts';
import { sessionListRoutes } from '../http/routes/sessions.ts';
import { signInRoutes } from '../http/routes/sign-in.ts';
import { formRoutes } from '../http/routes/sign-in-forms.ts';
import { tableRoutes } from '../http/routes/tables.ts';
import { signInTokenRoutes } from '../http/routes/tokens.ts';
import { userRoutes } from '../http/routes/users.ts';
import { eventRoutes } from '../http/routes/webhooks.ts';
import { type HttpApp, openApp } from '../http/server/app.ts';
import { CallerAddresses } from '../http/server/caller-address.ts';
import { Listener } from '../http/server/listener.ts';
import type { LoadBounds } from '../http/server/load-shedding.ts';
import type { ServedRoute } from '../http/server/route-table.ts';
import type { Routes } from '../http/server/routes.ts';
import { InFlight, type Repeated, repeat, stopMsMax, storeCloseMsMin } from '../lifecycle.ts';
import { type Log, openLog } from '../log.ts';
import type { MetricsSnapshot } from '../metrics.ts';
import { Recovery } from '../payments/recovery/recovery.ts';
import { openSealer } from '../secrets/open-sealer.ts';
import type { Settings } from '../settings/schema.ts';
import { endingRecoveryMs } from '../sign-in/limits.ts';
import { checkIsWhole } from '../storage/copying/marker.ts';
import type { Engine } from '../storage/engine.ts';
import { version } from '../version.ts';
import { openAccess } from './access.ts';
import { metricsText, openEngine, openMetrics, openTraces } from './adapters.ts';
import { openPayments, openSignIn, openTables } from './domains.ts';
import {
  declinesSweepMs,
  distantRecoveryIntervalMs,
  oneTimeIdSweepMs,
  recoveryIntervalMs,
  sessionSweepMs,
  tokenSweepIntervalMs,
} from './limits.ts';
import { masterKeySource } from './offline/secrets.ts';
import { checkReady } from './readiness.ts';

/** Builds the service: settings → engine → domains → HTTP apps. */

export interface ServiceOptions {
  /** Whether the simulated processor is served. */
  readonly simulate: boolean;
  /** Whether several processes listen on the same port and share its connections. */
  readonly sharesPort?: boolean;
  readonly log?: Log;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
  /** After this silence another owner of charges counts as dead; the limit of the same name by default. */
  readonly ownerSilenceMsMax?: number;
  /** The number of this service's processes on this machine; 1 by default. */
  readonly processes?: number;
  /** The time limit of a distributed engine's call with its retries; the engine's limit by default. */
  readonly storeCallMsMax?: number;
  /** When requests are shed; the limits of the same names by default. */
  readonly load?: LoadBounds;
  /** How long a response may make no progress; the limit of the same name by default. */
  readonly responseStallMs?: number;
  /** With less free space the disk counts as full; the limit of the same name by default. */
  readonly diskReserveBytes?: number;
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

const alone: GatherMetrics = (own) => async () => [own()];

/** Starts the service. Throws SettingsError if the settings do not match the data folder. */
export async function startService(settings: Settings, options: ServiceOptions): Promise<Service> {
  const { simulate, sharesPort = false, log = openLog(settings.logLevel), now = Date.now } = options;
  const {
    ownerSilenceMsMax,
    processes,
    storeCallMsMax,
    load,
    responseStallMs,
    diskReserveBytes,
    gatherMetrics = alone,
  } = options;
  const prometheus = openMetrics(settings, now);
  const gather = gatherMetrics(prometheus.snapshot);
  const { metrics } = prometheus;
  let stopping = false;

  const callers = new CallerAddresses(settings.trustedProxies);
  const listening = {
    reusePort: sharesPort,
    bounds: load,
    responseStallMs,
    isTrustedProxy: (address: string) => callers.isTrusted(address),
  };
  const listener = await Listener.listen({ host: settings.host, port: settings.port, ...listening });
  let paymentListener = listener;
  const inFlight = new InFlight();
  let engine: Engine | undefined;
  const apps: HttpApp[] = [];
  try {
    if (settings.payments.port !== undefined) {
      const { host = settings.host, port } = settings.payments;
      paymentListener = await Listener.listen({ host, port, ...listening });
    }
    const masterKeys = masterKeySource(settings);
    const traces = await openTraces(settings);
    const store = await openEngine(settings, log, {
      metrics,
      diskReserveBytes,
      callMsMax: storeCallMsMax,
    });
    engine = store;
    await checkIsWhole(store);
    const access = await openAccess(settings, store, log, now);
    const sealer = await openSealer(engine, masterKeys, now());
    const tables = openTables(settings, engine);
    const parts = {
      engine,
      sealer,
      tables,
      inFlight,
      log,
      metrics,
      traces,
      now,
      simulate,
      ownerSilenceMsMax,
      processes,
    };
    const payments = await openPayments(settings, parts);
    const signIn = openSignIn(settings, { ...parts, origin: settings.publicUrl ?? listener.origin });

    const isShedding = () => listener.load.isSheddingForLong() || paymentListener.load.isSheddingForLong();
    const operations: Routes = (app) => {
      operationRoutes(() => checkReady({ engine: store, masterKeys, isShedding }, stopping))(app);
      metricsRoutes(async () => metricsText(await gather()))(app);
    };
    const main = [
      tableRoutes(tables, settings.basePath, settings.tables.aliases),
      integrationRoutes(signIn),
      integrationListRoutes(signIn),
      signInRoutes(signIn, (request) => access.authorizer.takeSignIn(request, now())),
      sessionRoutes(signIn),
      signInTokenRoutes(signIn.appTokens, signIn.signingKeys, settings.basePath),
      formRoutes(signIn, signIn.appTokens),
      userRoutes(signIn),
      sessionListRoutes(signIn),
    ];
    const { basePath } = settings.payments;
    const paying = [paymentRoutes(payments, basePath, access.authorizer), eventRoutes(payments, basePath)];
    const open = async (on: Listener, routes: readonly Routes[]) => {
      const described = [...routes, operations];
      const app = await openApp(on, {
        log,
        metrics,
        ...access,
        isStopping: () => stopping,
        routes: settings.docs === 'on' ? [...described, documentationRoutes(version, described)] : described,
      });
      apps.push(app);
    };
    if (paymentListener === listener) await open(listener, [...paying, ...main]);
    else {
      await open(listener, main);
      await open(paymentListener, paying);
    }

    const recovery = new Recovery(payments);
    const intervalMs = settings.store === 'lmdb' ? recoveryIntervalMs : distantRecoveryIntervalMs;
    const repeated: Repeated[] = [
      repeat(intervalMs, (signal) => recovery.round(signal), log),
      repeat(oneTimeIdSweepMs, (signal) => signIn.oneTimeIds.sweep(signal), log),
      repeat(sessionSweepMs, (signal) => signIn.sessions.sweep(signal), log),
      repeat(endingRecoveryMs, (signal) => signIn.accessEnding.recover(signal), log),
      repeat(tokenSweepIntervalMs, () => signIn.appTokens.sweep(), log),
      repeat(declinesSweepMs, () => access.declines.sweep(), log),
    ];
    return {
      origin: listener.origin,
      paymentOrigin: paymentListener.origin,
      isOpen: access.isOpen(),
      routes: apps.flatMap(({ routes }) => routes),
      stop: async () => {
        stopping = true;
        const stopped = new AbortController();
        const { signal } = stopped;
        const outOfTime = sleep(stopMsMax - storeCloseMsMin, undefined, { signal }).catch(() => undefined);
        const listeners = [listener.stop(), paymentListener.stop()];
        await Promise.all([...listeners, ...repeated.map((job) => job.stop()), inFlight.end()]);
        await Promise.all(apps.map((app) => app.close()));
        // A remote store may hang; recovery handles a write that was lost.
        const closing = Promise.all([payments.heartbeats.close(), traces.close()]).then(() => store.close());
        await Promise.race([closing, Promise.all([outOfTime, sleep(storeCloseMsMin)])]);
        prometheus.close();
        // A running timer would keep the process alive.
        stopped.abort();
        log.flush();
      },
    };
  } catch (error) {
    await Promise.all([listener.stop(), paymentListener.stop()]);
    await engine?.close();
    prometheus.close();
    throw error;
  }
}

/** Throws what listening throws, for instance EADDRINUSE. */
export async function checkPortsAreFree({ host, port, payments }: Settings): Promise<void> {
  const listeners = [await Listener.listen({ host, port })];
  try {
    if (payments.port !== undefined)
      listeners.push(await Listener.listen({ host: payments.host ?? host, port: payments.port }));
  } finally {
    await Promise.all(listeners.map((listener) => listener.stop()));
  }
}
