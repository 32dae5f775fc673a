import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ServiceError } from '../../src/errors.ts';
import { InFlight } from '../../src/lifecycle.ts';
import { openLog } from '../../src/log.ts';
import { noMetrics } from '../../src/metrics.ts';
import { Accounts } from '../../src/payments/accounts.ts';
import { createCharge } from '../../src/payments/charge/create.ts';
import { Heartbeats } from '../../src/payments/ownership/heartbeat.ts';
import { findPayment } from '../../src/payments/payment-store.ts';
import { refundPayment } from '../../src/payments/refund/create.ts';
import { ReplayCache } from '../../src/payments/replay-cache.ts';
import { MemoryLedger } from '../../src/processors/simulated/ledger.ts';
import { simulatedProcessor } from '../../src/processors/simulated/simulated.ts';
import { fixedKeys, masterKey } from '../../src/secrets/master-keys.ts';
import { Sealer } from '../../src/secrets/sealer.ts';
import { CommitUnknown, type Engine, type Write } from '../../src/storage/engine.ts';
import { noTraces } from '../../src/tracing.ts';
import { newDataFolder, openStoreOf } from '../support/service.ts';

const sold = (id: string, value: string): Write => {
  return { kind: 'create', space: 'table:sold', id, value, makeSpace: true };
};

/** The context of payments over a store whose commits a test replaces. */
async function contextOver(t: TestContext, commitOver: (store: Engine) => Engine['commit']) {
  const store = await openStoreOf(newDataFolder(t));
  t.after(() => store.close());
  const ledger = new MemoryLedger();
  const commit = commitOver(store);
  const engine = new Proxy(store, {
    get: (target, name: keyof Engine) => {
      const value = target[name];
      if (name === 'commit') return commit;
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const onSuccess = { table: 'sold', id: 'metadata.seat', name: 'payment_id' } as const;
  const context = {
    engine,
    sealer: new Sealer(fixedKeys([masterKey(Buffer.alloc(32, 7))])),
    processors: new Map([['simulated', simulatedProcessor(ledger)]]),
    routes: new Map([
      ['ticket', { unit: 'minor' as const, on_success: onSuccess }],
      ['charge', { unit: 'minor' as const }],
    ]),
    heartbeats: new Heartbeats(engine),
    accounts: new Accounts(),
    wantedMs: 600_000,
    replayCache: new ReplayCache(),
    itemWrite: (_table: string, { id, name }: { id: string; name: string }) => sold(id, name),
    itemDeletion: (_table: string, { id }: { id: string }) =>
      ({ kind: 'delete', space: 'table:sold', id }) as const,
    inFlight: new InFlight(),
    log: openLog('silent'),
    metrics: noMetrics,
    traces: noTraces,
    now: Date.now,
  };
  return { context, ledger };
}

for (const [what, fails, expected] of [
  ['can be undone', false, 'item_exists'],
  ['cannot be undone', true, 504],
] as const) {
  test(`responds ${expected} to a payment whose item another writer takes, and whose reservation ${what}`, async (t) => {
    const { context, ledger } = await contextOver(t, (store) => async (writes) => {
      // On a busy machine heartbeats come between the reservation and its undoing.
      const ofPayment = writes.find(({ space }) => space === 'service:payments')?.kind;
      if (ofPayment === 'delete' && fails) throw new ServiceError('unavailable');
      const conflict = await store.commit(writes);
      if (ofPayment === 'create') await store.commit([sold('seat-1', 'by hand')]);
      return conflict;
    });
    const request = { amount: 100, currency: 'EUR', token: 'tok_paid', metadata: { seat: 'seat-1' } };
    const taking = createCharge(context, { ...request, ...placeOf('ticket') }).then(
      ({ status }) => status,
      ({ code }: ServiceError) => code,
    );
    assert.equal(await taking, expected);
    assert.equal(ledger.charges.length, 0, 'the processor was not called');
  });
}

for (const [what, idempotencyKey, retryable] of [
  ['with a key is', 'refund-1', true],
  ['without a key is not', undefined, false],
] as const) {
  test(`responds that a refund is unknown when its reservation is; one ${what} to be sent again`, async (t) => {
    let isLost = false;
    const { context, ledger } = await contextOver(t, (store) => async (writes) => {
      const conflict = await store.commit(writes);
      if (isLost) throw new CommitUnknown('the reply was lost');
      return conflict;
    });
    const place = placeOf('charge');
    const paid = await createCharge(context, { amount: 100, currency: 'EUR', token: 'tok_paid', ...place });
    isLost = true;
    const { status, text, refundId } = await refundPayment(context, {
      ...place,
      paymentId: paid.paymentId,
      amount: undefined,
      idempotencyKey,
    });
    const { error } = JSON.parse(text).body;
    assert.deepEqual([status, error.code, error.retryable], [504, 'payment_outcome_unknown', retryable]);
    const stored = await findPayment(context, paid.paymentId);
    assert.deepEqual(
      stored?.refunds?.map(({ id, state }) => [id, state]),
      [[refundId, 'calling']],
      'recovery finds it',
    );
    assert.equal(ledger.refunds.length, 0, 'the processor was not called');
  });
}

function placeOf(route: string) {
  return { processor: 'simulated', route, idempotencyKey: 'k', caller: '', requestId: 'r' };
}
