import { resolve } from 'node:path';
import type { FastifyInstance } from 'fastify';
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
import { stripeProcessor } from './processors/stripe.ts';
import { repeat } from './repeat.ts';
import { openSealer } from './secrets/master-key.ts';
import type { Settings } from './settings/schema.ts';
import { Integrations } from './sign-in/integrations.ts';
import type { Engine } from './storage/engine.ts';
import { openLmdbEngine } from './storage/lmdb/open.ts';
import { Tables } from './tables/tables.ts';
import { version } from './version.ts';

/** The one file that names adapters: settings → engine → domains → doors. */

export interface ServiceOptions {
  /** Whether the simulated processor is served. */
  readonly simulate: boolean;
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
  const { simulate, log = openLog(settings.logLevel), now = Date.now } = options;
  let stopping = false;

  const listener = await Listener.listen(settings.host, settings.port);
  let paymentListener = listener;
  const inFlight = new InFlight();
  let engine: Engine | undefined;
  const doors: FastifyInstance[] = [];
  try {
    if (settings.payments.port !== undefined) {
      paymentListener = await Listener.listen(
        settings.payments.host ?? settings.host,
        settings.payments.port,
      );
    }
    engine = openLmdbEngine(resolve(settings.data));
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
