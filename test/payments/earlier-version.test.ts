import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openSpace } from '../../src/payments/open.ts';
import { paymentsSpace } from '../../src/payments/payment.ts';
import { openStoreOf } from '../support/service.ts';
import { order, path, paymentAfter, startWithStripe } from './stripe-service.ts';

const key = { 'idempotency-key': 'order-1042' };

test('a charge in doubt that the version before left is answered, and ends as it was', async (t) => {
  const { service, stripe } = await startWithStripe(t);
  const request = { ...order, token: 'pm_dropped_after_charging' };
  const lost = await service.post(path, request, key);
  const id = lost.headers.get('payment-id') ?? '';
  stripe.turnsAway = true;
  await service.stop();

  // It had no end, no account, and no processor at its marker.
  const engine = await openStoreOf(service.data);
  const payment = JSON.parse((await engine.get(paymentsSpace, id)) ?? '');
  const { wantedUntil: _end, account: _account, ...earlier } = payment;
  const dueAt = Date.now() + 5_000;
  await engine.commit([
    { kind: 'replace', space: paymentsSpace, id, value: JSON.stringify(earlier) },
    { kind: 'replace', space: openSpace, id, value: JSON.stringify({ dueAt }) },
  ]);
  await engine.close();

  const next = await startWithStripe(t, { stripe, data: service.data });
  stripe.command({ set: { refusesSearch: true } });
  const again = await next.service.post(path, request, key);
  assert.equal(again.status, 504, again.text);
  stripe.repair();
  const ended = await paymentAfter(next.service, `${path}/${id}`, ['calling', 'in_doubt']);
  assert.equal(ended.status, 'succeeded');
});
