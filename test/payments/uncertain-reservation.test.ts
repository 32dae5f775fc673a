import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../../src/errors.ts';
import { InFlight } from '../../src/lifecycle.ts';
import { openLog } from '../../src/log.ts';
import { noMetrics } from '../../src/metrics.ts';
import { Accounts } from '../../src/payments/accounts.ts';
import { createCharge } from '../../src/payments/charge/create.ts';
import { Heartbeats } from '../../src/payments/ownership/heartbeat.ts';
import { ReplayCache } from '../../src/payments/replay-cache.ts';
import { MemoryLedger } from '../../src/processors/simulated/ledger.ts';
import { simulatedProcessor } from '../../src/processors/simulated/simulated.ts';
import { fixedKeys, masterKey } from '../../src/secrets/master-keys.ts';
import { Sealer } from '../../src/secrets/sealer.ts';
import type { Engine, Write } from '../../src/storage/engine.ts';
import { noTraces } from '../../src/tracing.ts';
import { newDataFolder, openStoreOf } from '../support/service.ts';

const sold = (id: string, value: string): Write => {
  return { kind: 'create', space: 'table:sold', id, value, makeSpace: true };
};

for (const [what, fails, expected] of [
  ['can be undone', false, 'item_exists'],
  ['cannot be undone', true, 504],
] as const) {
  test(`responds ${expected} to a payment whose item another writer takes, and whose reservation ${what}`, async (t) => {
    const store = await openStoreOf(newDataFolder(t));
    t.after(() => store.close());
    const ledger = new MemoryLedger();
    let commits = 0;
    const commit: Engine['commit'] = async (writes) => {
      commits++;
      if (commits === 2 && fails) throw new ServiceError('unavailable');
      const conflict = await store.commit(writes);
      if (commits === 1) await store.commit([sold('seat-1', 'by hand')]);
      return conflict;
    };
    const engine = new Proxy(store, {
      get: (target, name: keyof Engine) => {
        const value = target[name];
        if (name === 'commit') return commit;
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    const onSuccess = { table: 'sold', id: 'metadata.seat', name: 'payment_id' } as const;
    const parts = {
      engine,
      sealer: new Sealer(fixedKeys([masterKey(Buffer.alloc(32, 7))])),
      processors: new Map([['simulated', simulatedProcessor(ledger)]]),
      routes: new Map([['ticket', { unit: 'minor' as const, on_success: onSuccess }]]),
      heartbeats: new Heartbeats(engine),
      accounts: new Accounts(),
      wantedMs: 600_000,
      replayCache: new ReplayCache(),
      itemWrite: (_table: string, { id, name }: { id: string; name: string }) => sold(id, name),
      inFlight: new InFlight(),
      log: openLog('silent'),
      metrics: noMetrics,
      traces: noTraces,
      now: Date.now,
    };
    const request = { amount: 100, currency: 'EUR', token: 'tok_paid', metadata: { seat: 'seat-1' } };
    const place = {
      processor: 'simulated',
      route: 'ticket',
      idempotencyKey: 'k',
      caller: '',
      requestId: 'r',
    };
    const taking = createCharge(parts, { ...request, ...place }).then(
      ({ status }) => status,
      ({ code }: ServiceError) => code,
    );
    assert.equal(await taking, expected);
    assert.equal(ledger.charges.length, 0, 'the processor was not called');
  });
}
