import { resolve } from 'node:path';
import { existingStore, openEngine, openIdentityProviders, openProcessors } from './adapters.ts';
import { documentationRoutes } from './http/documentation.ts';
import { type Door, openDoor, type Routes } from './http/door.ts';
import { eventRoutes } from './http/events.ts';
import { integrationListRoutes, integrationRoutes } from './http/integrations.ts';
import { Listener } from './http/listener.ts';
import { checkOpenAccess } from './http/open-access.ts';
import { operationRoutes } from './http/operations.ts';
import { paymentRoutes } from './http/payments.ts';
import { sessionRoutes } from './http/session.ts';
import { signInRoutes } from './http/sign-in.ts';
import { signInTokenRoutes } from './http/sign-in-tokens.ts';
import { tableRoutes } from './http/tables.ts';
import { InFlight } from './in-flight.ts';
import { recoveryIntervalMs, sessionSweepMs, signInSweepMs, tokenSweepIntervalMs } from './limits.ts';
import { type Log, openLog } from './log.ts';
import { Drivers } from './payments/drivers.ts';
import { FinalPayments } from './payments/final-payments.ts';
import type { RoutePolicy } from './payments/order.ts';
import type { PaymentParts } from './payments/parts.ts';
import { Recovery } from './payments/recover-payments.ts';
import { type Repeated, repeat } from './repeat.ts';
import { openSealer } from './secrets/open-sealer.ts';
import type { Settings } from './settings/schema.ts';
import { Integrations } from './sign-in/integrations.ts';
import type { SignInParts } from './sign-in/parts.ts';
import { PendingSignIns } from './sign-in/pending-sign-ins.ts';
import { Sessions } from './sign-in/sessions.ts';
import { SigningKeys } from './sign-in/tokens/signing-keys.ts';
import { TokenGrants } from './sign-in/tokens/token-grants.ts';
import type { Engine } from './storage/engine.ts';
import { Tables } from './tables/tables.ts';
import { masterKeySource } from './vault.ts';
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
    const sealer = await openSealer(engine, masterKeySource(settings), now());
    const tables = openTables(settings, engine);
    const parts = { engine, sealer, tables, inFlight, log, now, simulate, driverSilenceMsMax };
    const payments = await openPayments(settings, parts);
    const signIn = openSignIn(settings, { ...parts, origin: settings.publicUrl ?? listener.origin });

    const operations = operationRoutes(() => !stopping);
    const main = [
      tableRoutes(tables, settings.basePath, settings.tables.aliases),
      integrationRoutes(signIn),
      integrationListRoutes(signIn),
      signInRoutes(signIn),
      sessionRoutes(signIn),
      signInTokenRoutes(signIn.appTokens, signIn.signingKeys, settings.basePath),
    ];
    const { basePath } = settings.payments;
    const paying = [paymentRoutes(payments, basePath), eventRoutes(payments, basePath)];
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

    const recovery = new Recovery(payments);
    const repeated: Repeated[] = [
      repeat(recoveryIntervalMs, (signal) => recovery.round(signal), log),
      repeat(signInSweepMs, (signal) => signIn.pending.sweep(signal), log),
      repeat(sessionSweepMs, (signal) => signIn.sessions.sweep(signal), log),
      repeat(tokenSweepIntervalMs, () => signIn.appTokens.sweep(), log),
    ];
    return {
      origin: listener.origin,
      paymentOrigin: paymentListener.origin,
      stop: async () => {
        stopping = true;
        const listeners = [listener.stop(), paymentListener.stop()];
        await Promise.all([...listeners, ...repeated.map((job) => job.stop()), inFlight.end()]);
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

interface SignInOptions extends Pick<PaymentParts, 'engine' | 'sealer' | 'log' | 'now'> {
  /** As browsers know the service. */
  readonly origin: string;
}

interface SignIn extends SignInParts {
  readonly appTokens: TokenGrants;
  readonly signingKeys: SigningKeys;
}

function openSignIn(settings: Settings, { engine, sealer, log, now, origin }: SignInOptions): SignIn {
  const integrations = new Integrations(engine, sealer, now);
  const signingKeys = new SigningKeys({ engine, sealer, now });
  const appTokens = new TokenGrants({
    engine,
    keys: signingKeys,
    issuer: origin + settings.basePath,
    isRegistered: (provider, name) => integrations.isRegistered(provider, name),
    now,
  });
  return {
    integrations,
    pending: new PendingSignIns(engine, sealer, now),
    sessions: new Sessions(engine, now),
    providers: openIdentityProviders(settings),
    appTokens,
    signingKeys,
    origin,
    prefix: settings.basePath,
    log,
  };
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
    const sealer = await openSealer(engine, masterKeySource(settings), Date.now());
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
