import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { SettingsError } from './errors.ts';
import { documentationRoutes } from './http/documentation.ts';
import { openDoor, type Routes } from './http/door.ts';
import { integrationRoutes } from './http/integrations.ts';
import { Listener } from './http/listener.ts';
import { checkOpenAccess } from './http/open-access.ts';
import { operationRoutes } from './http/operations.ts';
import { paymentRoutes } from './http/payments.ts';
import { tableRoutes } from './http/tables.ts';
import { InFlight } from './in-flight.ts';
import { recoveryIntervalMs } from './limits.ts';
import { type Log, openLog } from './log.ts';
import type { PaymentParts } from './payments/parts.ts';
import { recoverPayments } from './payments/recover-payments.ts';
import type { Processor } from './processors/processor.ts';
import { simulatedProcessor } from './processors/simulated.ts';
import { MemoryLedger, RemoteLedger } from './processors/simulated-ledger.ts';
import { type LedgerServer, serveLedger } from './processors/simulated-ledger-server.ts';
import { stripeProcessor } from './processors/stripe.ts';
import { repeat } from './repeat.ts';
import { openSealer } from './secrets/master-key.ts';
import type { Settings } from './settings/schema.ts';
import { Integrations } from './sign-in/integrations.ts';
import type { Engine } from './storage/engine.ts';
import { noteLoss, verifyAfterLoss } from './storage/lmdb/loss.ts';
import { openLmdbEngine, storeFile } from './storage/lmdb/open.ts';
import { type Progress, type Verified, verifyStore } from './storage/lmdb/verify.ts';
import { Tables } from './tables/tables.ts';
import { version } from './version.ts';

/** The one file that names adapters: settings → engine → domains → doors. */

export interface ServiceOptions {
  /** Whether the simulated processor is served. */
  readonly simulate: boolean;
  /** Whether other processes listen on the same port, and connections are shared out among them. */
  readonly sharesPort?: boolean;
  readonly log?: Log;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

export interface Service {
  /** Where the service listens, `http://host:port`. */
  readonly origin: string;
  /** Where payments are taken; the same as `origin` unless they have a listener of their own. */
  readonly paymentOrigin: string;
  /** Finishes what runs, lets go of the store; resolves within 10 s. */
  stop(): Promise<void>;
}

/** Starts the service. Throws SettingsError when the settings and the data folder do not go together. */
export async function startService(settings: Settings, options: ServiceOptions): Promise<Service> {
  const { simulate, sharesPort = false, log = openLog(settings.logLevel), now = Date.now } = options;
  let stopping = false;

  const listener = await Listener.listen(settings.host, settings.port, sharesPort);
  let paymentListener = listener;
  const inFlight = new InFlight();
  let engine: Engine | undefined;
  const doors: FastifyInstance[] = [];
  try {
    if (settings.payments.port !== undefined) {
      paymentListener = await Listener.listen(
        settings.payments.host ?? settings.host,
        settings.payments.port,
        sharesPort,
      );
    }
    engine = await openEngine(resolve(settings.data), log);
    const sealer = await openSealer(engine, { setting: settings.masterKey, dataFolder: settings.data });
    const payments: PaymentParts = {
      engine,
      processors: await openProcessors(settings, simulate),
      routes: new Map(Object.entries(settings.payments.routes)),
      sealer,
      inFlight,
      log,
      now,
    };
    const tables = new Tables(engine, { tables: settings.tables.policy, declared: settings.tables.declared });
    const integrations = new Integrations(engine, sealer, now);

    const operations = operationRoutes(() => !stopping);
    const main = [
      tableRoutes(tables, settings.basePath, settings.tables.aliases),
      integrationRoutes(integrations, settings.basePath, settings.publicUrl ?? listener.origin),
    ];
    const paying = [paymentRoutes(payments, settings.payments.basePath)];
    const open = async (on: Listener, routes: readonly Routes[]) => {
      const described = [...routes, operations];
      const door = await openDoor(on, {
        log,
        checkAccess: checkOpenAccess,
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

    const recovery = repeat(recoveryIntervalMs, () => recoverPayments(payments), log);
    return {
      origin: listener.origin,
      paymentOrigin: paymentListener.origin,
      stop: async () => {
        stopping = true;
        await Promise.all([listener.stop(), paymentListener.stop(), recovery.stop(), inFlight.end()]);
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

async function openEngine(folder: string, log: Log): Promise<Engine> {
  await verifyAfterLoss(folder);
  return openLmdbEngine(folder, (error) => {
    noteLoss(folder);
    log.error('store_lost', { detail: error.message });
    log.flush();
    // Not by an exit in good order: the library has harmed the memory that this would still use.
    process.kill(process.pid, 'SIGKILL');
  });
}

/** Walks the store of a data folder. Throws SettingsError where there is none, or not one of ours. */
export async function verifyData({ data }: Settings, progress: Progress): Promise<Verified> {
  const file = storeFile(resolve(data));
  if (!existsSync(file)) throw new SettingsError([`data (COUNTERFOIL_DATA): there is no store at ${file}`]);
  return verifyStore(file, progress);
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

/** A ledger of the simulated processor that several processes share. */
export function serveSimulatedLedger(): Promise<LedgerServer> {
  return serveLedger(new MemoryLedger());
}

/** Each processor that the service knows; undefined for one without a key. */
async function openProcessors(
  { stripe, simulated }: Settings,
  simulate: boolean,
): Promise<Map<string, Processor | undefined>> {
  // Square is known by name; without an adapter it can have no key.
  const processors = new Map<string, Processor | undefined>([['square', undefined]]);
  processors.set(
    'stripe',
    stripe.key === undefined
      ? undefined
      : await stripeProcessor({ key: stripe.key, apiBase: stripe.apiBase }),
  );
  if (simulate) {
    const ledger = simulated.ledger === undefined ? new MemoryLedger() : new RemoteLedger(simulated.ledger);
    processors.set('simulated', simulatedProcessor(ledger));
  }
  return processors;
}
