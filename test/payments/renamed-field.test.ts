import assert from 'node:assert/strict';
import { test } from 'node:test';
import { paymentsSpace } from '../../src/payments/payment.ts';
import { changePayment, findPayment, paymentsAfter } from '../../src/payments/payment-store.ts';
import { openLmdbEngine } from '../../src/storage/lmdb/open.ts';
import { newDataFolder } from '../support/service.ts';

test('an open payment that was stored with `wantedUntil` keeps its deadline, and can be changed', async (t) => {
  const engine = openLmdbEngine(newDataFolder(t));
  t.after(() => engine.close());
  const stored = { id: 'pay_1', state: 'calling', attempts: 0, wantedUntil: 1_700_000_000_000 };
  const value = JSON.stringify(stored);
  await engine.commit([{ kind: 'create', space: paymentsSpace, id: stored.id, value, makeSpace: true }]);
  const [listed] = await Array.fromAsync(paymentsAfter({ engine }, undefined));
  for (const payment of [await findPayment({ engine }, stored.id), listed])
    assert.equal(payment?.retryUntil, stored.wantedUntil);
  const extended = stored.wantedUntil + 1_000;
  const change = (payment: NonNullable<typeof listed>) => ({ payment: { ...payment, retryUntil: extended } });
  await changePayment({ engine }, stored.id, change, listed);
  assert.equal((await findPayment({ engine }, stored.id))?.retryUntil, extended);
});
