import type { TestContext } from 'node:test';
import { openLog } from '../../../src/log.ts';
import { type PaymentContext, paymentContext } from '../../../src/payments/context.ts';
import type { RoutePolicy } from '../../../src/payments/payment-routes.ts';
import { MemoryLedger } from '../../../src/processors/simulated/memory-ledger.ts';
import { simulatedProcessor } from '../../../src/processors/simulated/simulated.ts';
import { fixedKeys, masterKey } from '../../../src/secrets/key-file.ts';
import { Sealer } from '../../../src/secrets/sealer.ts';
import type { Engine, Write } from '../../../src/storage/engine.ts';
import { noMetrics, noTraces } from '../../../src/telemetry.ts';
import { newDataFolder, openStoreOf } from '../service.ts';
import { uncounted } from './uncounted.ts';

export function created(table: string, id: string, value: string): Write {
  return { kind: 'create', space: `table:${table}`, id, value, makeSpace: true };
}

/** The context of payments over a real store, some of whose methods a test replaces. */
export async function contextOver(
  t: TestContext,
  routes: Readonly<Record<string, RoutePolicy>>,
  replacedOf: (store: Engine) => Partial<Pick<Engine, 'get' | 'commit'>>,
): Promise<{ readonly context: PaymentContext; readonly ledger: MemoryLedger; readonly store: Engine }> {
  const store = await openStoreOf(newDataFolder(t));
  t.after(() => store.close());
  const ledger = new MemoryLedger();
  const replaced = replacedOf(store);
  const engine = new Proxy(store, {
    get: (target, name: keyof Engine) => {
      const value = target[name];
      if (name === 'get' || name === 'commit') return replaced[name] ?? target[name].bind(target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const context = contextOn(engine, routes, new Map([['simulated', simulatedProcessor(ledger)]]));
  return { context, ledger, store };
}

/** The context of payments on an engine. */
export function contextOn(
  engine: Engine,
  routes: Readonly<Record<string, RoutePolicy>>,
  processors: PaymentContext['processors'],
): PaymentContext {
  const itemWrite: PaymentContext['itemWrite'] = (table, { id, name }) => created(table, id, name);
  const log = openLog('silent');
  return paymentContext({
    engine,
    sealer: new Sealer(fixedKeys([masterKey(Buffer.alloc(32, 7))])),
    processors,
    routes: new Map(Object.entries(routes)),
    retryMs: 600_000,
    authenticationMs: 1_800_000,
    cardTesting: uncounted,
    itemWrite,
    itemDeletion: (table: string, { id, name }) =>
      ({ kind: 'delete', space: `table:${table}`, id, ifValue: name }) as const,
    log,
    metrics: noMetrics,
    traces: noTraces,
    now: Date.now,
  });
}
