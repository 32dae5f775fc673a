import { Administrators } from '../access/console/administrators.ts';
import { operatorKeys } from '../access/keys/keys.ts';
import { type AuditEntry, auditTrail } from '../audit/audit.ts';
import { type Log, openLog } from '../log.ts';
import type { Payments } from '../payments/payments.ts';
import {
  type MasterKeySource,
  type MasterKeys,
  openMasterKeys,
  openSealer,
  readKeyNotes,
} from '../secrets/master-keys.ts';
import { tablePolicy } from '../settings/load.ts';
import type { Settings } from '../settings/schema.ts';
import { ConsoleApprovals, People } from '../sign-in/sign-in.ts';
import { type Copied, type CopyOptions, copyStore } from '../storage/copying/copy.ts';
import { checkIsWhole } from '../storage/copying/marker.ts';
import type { Engine } from '../storage/engine.ts';
import type { Tables } from '../tables/tables.ts';
import { noMetrics, noTraces } from '../telemetry.ts';
import { openCardTestingLimiter } from './access.ts';
import {
  existingStore,
  hasSimulatedLedger,
  openEngine,
  openProcessors,
  openSimulation,
  openStoreAt,
  renewStore,
  type StorePlace,
} from './adapters.ts';
import { masterKeySource, openPayments, openTables } from './domains.ts';

/** What commands open without the service. The service may be running. */

interface Offline {
  close(): Promise<void>;
}

interface OfflineOptions {
  /** Whether to make a missing store; by default it is an error. */
  readonly makesStore?: boolean;
  /** Whether to open a store into which a copy is not complete; by default it is an error. */
  readonly isPartialAllowed?: boolean;
}

/**
 * Opens the store of the settings for a command, and builds what the command works with. Throws SettingsError.
 *
 * @param build returns a `close` if it has more to close than the store
 */
async function openOffline<Parts extends object>(
  settings: Settings,
  build: (engine: Engine, log: Log) => Parts | Promise<Parts & Partial<Offline>>,
  { makesStore = false, isPartialAllowed = false }: OfflineOptions = {},
): Promise<Parts & Offline> {
  // The command prints its result to standard output and does not need the service's log lines.
  const log = openLog('error');
  if (!makesStore && settings.store === 'lmdb') existingStore(settings);
  const engine = await openEngine(settings, log);
  const closeStore = async () => {
    await engine.close();
    log.flush();
  };
  try {
    if (!isPartialAllowed) await checkIsWhole(engine);
    const parts: Parts & Partial<Offline> = await build(engine, log);
    const close = async () => {
      await parts.close?.();
      await closeStore();
    };
    return { ...parts, close };
  } catch (error) {
    await closeStore();
    throw error;
  }
}

/** Opens the tables of a data folder. Throws SettingsError. */
export function openOfflineTables(settings: Settings): Promise<{ readonly tables: Tables } & Offline> {
  return openOffline(settings, (engine) => ({ tables: openTables(settings, engine) }));
}

export interface OfflinePeople extends Offline {
  readonly people: People;
}

/** Opens the users and sessions of a data folder. Throws SettingsError. */
export function openPeople(settings: Settings): Promise<OfflinePeople> {
  return openOffline(settings, (engine) => ({
    people: People.over(engine, Date.now),
  }));
}

/**
 * Opens the payments of a data folder. The simulated processor is included if a service has served it on the same data: a command makes
 * no charges. Throws SettingsError.
 */
export function openOfflinePayments(settings: Settings): Promise<{ readonly payments: Payments } & Offline> {
  return openOffline(settings, async (engine, log) => {
    const sealer = await openSealer(engine, masterKeySource(settings), Date.now());
    const simulation = hasSimulatedLedger(settings) ? openSimulation(settings, '') : undefined;
    const payments = openPayments(settings, {
      engine,
      sealer,
      tables: openTables(settings, engine),
      cardTesting: openCardTestingLimiter(settings, engine, Date.now),
      log,
      metrics: noMetrics,
      traces: noTraces,
      now: Date.now,
      processors: await openProcessors(settings, simulation),
    });
    return { payments, close: () => payments.close() };
  });
}

export interface OfflineAccess extends Offline {
  readonly keys: ReturnType<typeof operatorKeys>;
  readonly administrators: Administrators;
  readonly approvals: ConsoleApprovals;
  /** The administrative acts. @param since milliseconds since 1970 */
  trail(since?: number): AsyncGenerator<AuditEntry>;
}

/**
 * Opens the API keys, the administrators and the audit trail of a data folder. Throws SettingsError.
 *
 * @param makesStore whether to make a missing store: the first key is made before the first start
 */
export function openOfflineAccess(settings: Settings, makesStore: boolean): Promise<OfflineAccess> {
  return openOffline(
    settings,
    (engine) => ({
      keys: operatorKeys(engine),
      administrators: new Administrators(engine, Date.now),
      approvals: new ConsoleApprovals(engine, Date.now),
      trail: (since?: number) => auditTrail(engine, since),
    }),
    { makesStore, isPartialAllowed: true },
  );
}

export interface OfflineSecrets extends Offline {
  readonly engine: Engine;
  readonly keys: MasterKeys;
  readonly source: MasterKeySource;
}

/** Opens the secrets of a data folder. Throws SettingsError. */
export function openOfflineSecrets(settings: Settings): Promise<OfflineSecrets> {
  const source = masterKeySource(settings);
  return openOffline(
    settings,
    async (engine) => ({ engine, keys: await openMasterKeys(engine, source, Date.now()), source }),
    { isPartialAllowed: true },
  );
}

export interface Moving extends Pick<CopyOptions, 'isIntoExisting' | 'progress'> {
  readonly from: StorePlace;
  readonly to: StorePlace;
}

export interface Moved extends Copied {
  /** Ids of the master keys that its secrets may need; empty if no service has run on it. */
  readonly masterKeyIds: readonly string[];
  /** Tables that a service on the target would not serve, because the settings do not declare them. */
  readonly undeclared: readonly string[];
}

/** Copies one store to another (`copyStore`). No service should have either open. Throws SettingsError. */
export async function moveStore(settings: Settings, { from, to, ...options }: Moving): Promise<Moved> {
  const log = openLog('error');
  const source = await openStoreAt(settings, from, { isMade: false, log });
  try {
    const target = await openStoreAt(settings, to, { isMade: true, log });
    try {
      const copied = await copyStore({ ...options, source, target });
      const tables = tablePolicy({ ...settings, store: to.kind }) === 'declared' ? copied.tables : [];
      const undeclared = tables.filter((table) => !settings.tables.declared.includes(table));
      const notes = await readKeyNotes(source.engine);
      return { ...copied, undeclared, masterKeyIds: notes.map(({ keyId }) => keyId) };
    } finally {
      await target.engine.close();
      await renewStore(to);
    }
  } finally {
    await source.engine.close();
    log.flush();
  }
}
