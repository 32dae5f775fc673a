import { openLog } from '../../log.ts';
import { noMetrics } from '../../metrics.ts';
import type { Payments } from '../../payments/payments.ts';
import { openSealer } from '../../secrets/open-sealer.ts';
import type { Settings } from '../../settings/schema.ts';
import { checkIsWhole } from '../../storage/copying/marker.ts';
import { noTraces } from '../../tracing.ts';
import { openCardTestingLimiter } from '../access.ts';
import {
  existingStore,
  hasSimulatedLedger,
  openEngine,
  openProcessors,
  openSimulation,
} from '../adapters.ts';
import { openPayments, openTables } from '../domains.ts';
import { masterKeySource } from './secrets.ts';

export interface OfflinePayments {
  readonly payments: Payments;
  close(): Promise<void>;
}

/**
 * Opens the payments of a data folder for a command. The service may be running. The simulated processor is included if
 * a service has served it on the same data: a command makes no charges. Throws SettingsError.
 */
export async function openOfflinePayments(settings: Settings): Promise<OfflinePayments> {
  // The command prints its result to standard output and does not need the service's log lines.
  const log = openLog('error');
  if (settings.store === 'lmdb') existingStore(settings);
  const engine = await openEngine(settings, log);
  try {
    await checkIsWhole(engine);
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
    const close = async () => {
      await payments.close();
      await engine.close();
      log.flush();
    };
    return { payments, close };
  } catch (error) {
    await engine.close();
    throw error;
  }
}
