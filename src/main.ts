import { resolve } from 'node:path';
import { existingStore, openEngine, openProcessors } from './adapters.ts';
import { documentationRoutes } from './http/documentation.ts';
import { type Door, openDoor, type Routes } from './http/door.ts';
import { eventRoutes } from './http/events.ts';
import { integrationRoutes } from './http/integrations.ts';
import type { ServedRoute } from './http/known-paths.ts';
import { Listener } from './http/listener.ts';
import { operationRoutes } from './http/operations.ts';
import { paymentRoutes } from './http/payments.ts';
import { tableRoutes } from './http/tables.ts';
import { InFlight } from './in-flight.ts';
import { recoveryIntervalMs } from './limits.ts';
import { type Log, openLog } from './log.ts';
import { openAccess } from './main-access.ts';
import { Drivers } from './payments/drivers.ts';
import { FinalPayments } from './payments/final-payments.ts';
import type { RoutePolicy } from './payments/order.ts';
import type { PaymentParts } from './payments/parts.ts';
import { Recovery } from './payments/recover-payments.ts';
import { repeat } from './repeat.ts';
import { openSealer } from './secrets/master-key.ts';
import type { Settings } from './settings/schema.ts';
import { Integrations } from './sign-in/integrations.ts';
import type { Engine } from './storage/engine.ts';
import { Tables } from './tables/tables.ts';
import { version } from './version.ts';

/** Puts the parts together: settings → engine → domains → doors. */

export interface ServiceOptions {
  /** Whether the simulated processor is served. */
  readonly simulate: boolean;
  /** Whether other processes listen on the same port, and connections are shared out among them. */
  readonly sharesPort?: boolean;
  readonly log?: Log;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
  /** When another process that drove charges counts as dead; the limit of the same name without it. */
  readonly driverSilenceMsMax?: number;
}

export interface Service {
  /** Where the service listens, `http://host:port`. */
  readonly origin: string;
  /** Where payments are taken; the same as `origin` unless they have a listener of their own. */
  readonly paymentOrigin: string;
  /** Every route of its doors, and what a request on it needs. */
  readonly routes: readonly ServedRoute[];
  /** Finishes what runs, lets go of the store; resolves within 10 s. */
  stop(): Promise<void>;
}

/** Starts the service. Throws SettingsError when the settings and the data folder do not go together. */
export async function startService(settings: Settings, options: ServiceOptions): Promise<Service> {
  const { simulate, sharesPort = false, log = openLog(settings.logLevel), now = Date.now } = options;
  const { driverSilenceMsMax } = options;
  let stopping = false;

  const listener = await Listener.listen(settings.host, settings.port, sharesPort);
  let paymentListener = listener;
  const inFlight = new InFlight();
  let engine: Engine | undefined;
  const doors: Door[] = [];
  try {
    if (settings.payments.port !== undefined) {
      paymentListener = await Listener.listen(
        settings.payments.host ?? settings.host,
        settings.payments.port,
        sharesPort,
      );
    }
    engine = await openEngine(resolve(settings.data), log);
    const access = await openAccess(settings, engine, now);
    const sealer = await openSealer(engine, { setting: settings.masterKey, dataFolder: settings.data });
    const tables = openTables(settings, engine);
    const parts = { engine, sealer, tables, inFlight, log, now, simulate, driverSilenceMsMax };
    const payments = await openPayments(settings, parts);
    const integrations = new Integrations(engine, sealer, now);

    const operations = operationRoutes(() => !stopping);
    const main = [
      tableRoutes(tables, settings.basePath, settings.tables.aliases),
      integrationRoutes(integrations, settings.basePath, settings.publicUrl ?? listener.origin),
    ];
    const { basePath } = settings.payments;
    const paying = [
      paymentRoutes(payments, basePath, (request) => access.gate.noteDecline(request)),
      eventRoutes(payments, basePath),
    ];
    const open = async (on: Listener, routes: readonly Routes[]) => {
      const described = [...routes, operations];
      const door = await openDoor(on, {
        log,
        ...access,
        isStopping: () => stopping,
        routes: [...described, documentationRoutes(version, described)],
      });
      doors.push(door);
    };
    if (paymentListener === listener) await open(listener, [...paying, ...main]);
    else {
      await open(listener, main);
      await open(paymentListener, paying);
    }

    const recovery = new Recovery(payments);
    const recovering = repeat(recoveryIntervalMs, (signal) => recovery.round(signal), log);
    return {
      origin: listener.origin,
      paymentOrigin: paymentListener.origin,
      routes: doors.flatMap(({ routes }) => routes),
      stop: async () => {
        stopping = true;
        await Promise.all([listener.stop(), paymentListener.stop(), recovering.stop(), inFlight.end()]);
        await payments.drivers.close();
        await Promise.all(doors.map((door) => door.close()));
        await engine?.close();
        log.flush();
      },
    };
  } catch (error) {
    await Promise.all([listener.stop(), paymentListener.stop()]);
    await engine?.close();
    throw error;
  }
}

function openTables({ tables }: Settings, engine: Engine): Tables {
  return new Tables(engine, { tables: tables.policy, declared: tables.declared });
}

interface PaymentOptions extends Pick<PaymentParts, 'engine' | 'sealer' | 'inFlight' | 'log' | 'now'> {
  readonly tables: Tables;
  readonly simulate: boolean;
  readonly driverSilenceMsMax?: number | undefined;
}

async function openPayments(
  settings: Settings,
  { tables, simulate, driverSilenceMsMax, ...parts }: PaymentOptions,
): Promise<PaymentParts> {
  return {
    ...parts,
    processors: await openProcessors(settings, simulate),
    routes: routesOf(settings),
    drivers: new Drivers(parts.engine, driverSilenceMsMax),
    finals: new FinalPayments(),
    itemWrite: (table, item) => tables.creation(table, item),
  };
}

export interface Books {
  readonly payments: PaymentParts;
  close(): Promise<void>;
}

/**
 * The payments of a data folder for a command beside the service, which may be running. The simulated processor is
 * there when its ledger lives in a process of its own. Throws SettingsError.
 */
export async function openBooks(settings: Settings): Promise<Books> {
  // Its answer goes to standard output; what the service would log for every step is of no use here.
  const log = openLog('error');
  existingStore(settings);
  const engine = await openEngine(resolve(settings.data), log);
  try {
    const sealer = await openSealer(engine, { setting: settings.masterKey, dataFolder: settings.data });
    const payments = await openPayments(settings, {
      engine,
      sealer,
      tables: openTables(settings, engine),
      inFlight: new InFlight(),
      log,
      now: Date.now,
      simulate: settings.simulated.ledger !== undefined,
    });
    const close = async () => {
      await payments.drivers.close();
      await engine.close();
      log.flush();
    };
    return { payments, close };
  } catch (error) {
    await engine.close();
    throw error;
  }
}

/** Throws what listening throws, for instance EADDRINUSE. */
export async function checkPortsAreFree({ host, port, payments }: Settings): Promise<void> {
  const listeners = [await Listener.listen(host, port)];
  try {
    if (payments.port !== undefined)
      listeners.push(await Listener.listen(payments.host ?? host, payments.port));
  } finally {
    await Promise.all(listeners.map((listener) => listener.stop()));
  }
}

function routesOf({ payments }: Settings): Map<string, RoutePolicy> {
  // The pattern of the settings has held the item's sources to what they can be.
  return new Map(Object.entries(payments.routes as Record<string, RoutePolicy>));
}
