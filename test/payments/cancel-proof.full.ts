import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { chargeLookup } from '../../src/payments/charge/look-up.ts';
import { processorCallMsMax } from '../../src/payments/limits.ts';
import { givenUpMs } from '../support/busy-machine.ts';
import { runCommand } from '../support/command.ts';
import { writeSettings } from '../support/payments/settings-file.ts';
import {
  chargeRequest,
  path,
  paymentAfter,
  resendFirstIntent,
  startWithStripe,
} from '../support/payments/stripe-service.ts';

const key = { 'idempotency-key': 'order-1042' };
const hourMs = 60 * 60_000;

test('a charge whose key the processor has forgotten is not reported as canceled: it may have been made', async (t) => {
  const { service, stripe, clock } = await startWithStripe(t);
  const lost = await service.post(path, { ...chargeRequest, token: 'pm_dropped_after_charging' }, key);
  assert.equal(lost.status, 504);
  stripe.turnsAway = true;
  clock.aheadMs = 25 * hourMs;
  stripe.command({ set: { aheadMs: clock.aheadMs } });
  // After a few look-ups without a result the next one is seconds away.
  const lookUps = () => stripe.requests.filter(({ path: asked }) => asked.endsWith('/search')).length;
  const giveUpAt = Date.now() + givenUpMs;
  while (lookUps() < 3) {
    assert.ok(Date.now() < giveUpAt);
    await sleep(20);
  }
  await sleep(300);
  stripe.turnsAway = false;
  const at = lost.headers.get('location') ?? '';
  const canceled = await service.post(`${at}/cancel`, {});
  assert.equal(stripe.charges.length, 1);
  assert.equal(canceled.status, 200, canceled.text);
  assert.notEqual(canceled.json.body.status, 'declined');
  assert.equal((await paymentAfter(service, at, ['in_doubt'])).status, 'succeeded');
});

test('a charge that Stripe is processing is not reported as canceled, and its seat is not sold twice', async (t) => {
  const seat = { table: 'seats', id: 'metadata.seat', name: 'payment_id' };
  const file = writeSettings(t, { payments: { routes: { charge: { on_success: seat } } } });
  const { service, stripe } = await startWithStripe(t, { file });
  const metadata = { seat: '12A' };
  const first = service.post(path, { ...chargeRequest, token: 'pm_queued', metadata }, key);
  while (!stripe.requests.some(({ path: asked }) => asked === '/v1/payment_intents')) await sleep(20);
  const { id } = (await service.get(`${path}?idempotency_key=order-1042`)).json.body;
  const canceled = await service.post(`${path}/${id}/cancel`, {});
  const second = await service.post(path, { ...chargeRequest, token: 'pm_card_visa', metadata });
  stripe.repair();
  await first;
  assert.deepEqual([canceled.json.body.status, second.status], ['calling', 409]);
  assert.equal(stripe.charges.length, 1);
});

test('a rejection of a second request does not decline a charge whose first request may still arrive', async (t) => {
  const { service, stripe } = await startWithStripe(t);
  const token = 'pm_reset_before_charging_then_400';
  const lost = await service.post(path, { ...chargeRequest, token }, key);
  assert.equal(lost.status, 504);
  const at = lost.headers.get('location') ?? '';
  const giveUpAt = Date.now() + 5_000;
  while ((await service.get(at)).json.body.status === 'in_doubt' && Date.now() < giveUpAt) await sleep(50);
  stripe.repair();
  // The request that a gateway had held back arrives.
  await resendFirstIntent(stripe);
  const payment = await paymentAfter(service, at, ['in_doubt']);
  assert.equal(payment.status === 'declined' && stripe.charges.length > 0, false, 'declined, and charged');
});

test('no request for a charge follows its cancellation, so its look-up ends there', () => {
  const canceledAt = Date.parse('2026-11-21T10:00:00Z');
  const payment = {
    id: 'pay_1',
    createdAt: '2026-11-21T09:59:00Z',
    retryUntil: canceledAt + 20 * hourMs,
    cancelRequestedAt: new Date(canceledAt).toISOString(),
  };
  const parts = { now: () => canceledAt + hourMs };
  const { requestedUntil } = chargeLookup(
    parts as never,
    { keyLifeMs: 23 * hourMs } as never,
    payment as never,
  );
  assert.ok(requestedUntil <= canceledAt + 2 * processorCallMsMax, new Date(requestedUntil).toISOString());
});

test('a retry extends the time of a request, however short that is', async (t) => {
  const { service, stripe, clock } = await startWithStripe(t, {
    env: { COUNTERFOIL_CHARGE_RETRY_SECONDS: '30' },
  });
  const lost = { ...chargeRequest, token: 'pm_error_before_charging' };
  const untilOf = (text: string) => Date.parse(/may still be made until (\S+?);/.exec(text)?.[1] ?? '');
  const first = untilOf((await service.post(path, lost, key)).text);
  stripe.turnsAway = true;
  clock.aheadMs = 25_000;
  await service.post(path, lost, key);
  const second = untilOf((await service.post(path, lost, key)).text);
  assert.ok(second >= first + 20_000, `${first} and ${second}`);
});

test('payments cancel ends a charge whose route is no longer in the settings', async (t) => {
  const file = writeSettings(t, { payments: { routes: { tickets: {} } } });
  const { service, stripe } = await startWithStripe(t, { file });
  const sent = { ...chargeRequest, token: 'pm_error_before_charging' };
  const lost = await service.post(path.replace('charge', 'tickets'), sent, key);
  assert.equal(lost.status, 504, lost.text);
  await service.stop();
  const canceled = await runCommand(['payments', 'cancel', lost.headers.get('payment-id') ?? ''], {
    COUNTERFOIL_DATA: service.data,
    COUNTERFOIL_STRIPE_KEY: stripe.key,
    COUNTERFOIL_STRIPE_API_BASE: stripe.origin,
  });
  assert.equal(canceled.errors, '');
  assert.match(canceled.output, / is in_doubt/, 'Stripe may still process it for a minute');
});
