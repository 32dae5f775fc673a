import assert from 'node:assert/strict';
import { test } from 'node:test';
import { writeSettings } from '../support/payments/settings-file.ts';
import {
  chargeRequest,
  chargesRequested,
  path,
  paymentAfter,
  resendFirstIntent,
  startWithStripe,
} from '../support/payments/stripe-service.ts';

const key = { 'idempotency-key': 'order-1042' };
const minuteMs = 60_000;
const seat = { table: 'seats', id: 'metadata.seat', name: 'payment_id' };
const settings = { payments: { routes: { charge: { on_success: seat } } } };
const metadata = { seat: '12A' };

test('a charge that no caller waits for is canceled, and the buyer is not charged later', async (t) => {
  const { service, stripe, clock } = await startWithStripe(t);
  const lost = { ...chargeRequest, token: 'pm_reset_before_charging_then_429' };
  const sent = await service.post(path, lost, key);
  assert.equal(sent.status, 504);
  clock.aheadMs = 11 * minuteMs;
  const asked = chargesRequested(stripe);
  stripe.repair();
  const payment = await paymentAfter(service, sent.headers.get('location') ?? '', ['in_doubt']);
  assert.deepEqual([payment.status, payment.decline_code], ['declined', 'expired']);
  assert.equal(chargesRequested(stripe), asked, 'it was not requested again');
  assert.deepEqual(stripe.charges, []);
  const again = await service.post(path, lost, key);
  assert.deepEqual([again.status, again.json.body.error.decline_code], [402, 'expired']);
});

test('a request that arrives after its charge was canceled charges nothing', async (t) => {
  const { service, stripe, clock } = await startWithStripe(t);
  const lost = await service.post(path, { ...chargeRequest, token: 'pm_error_before_charging' }, key);
  assert.equal(lost.status, 504);
  clock.aheadMs = 12 * minuteMs;
  const at = lost.headers.get('location') ?? '';
  assert.equal((await paymentAfter(service, at, ['in_doubt'])).status, 'declined');
  stripe.repair();
  const replayed = await resendFirstIntent(stripe);
  assert.ok(replayed.status >= 400);
  assert.deepEqual(stripe.charges, []);
});

test('a retry extends the time for which a charge in doubt is wanted', async (t) => {
  const { service, stripe, clock } = await startWithStripe(t);
  const lost = { ...chargeRequest, token: 'pm_dropped_after_charging' };
  const first = await service.post(path, lost, key);
  stripe.turnsAway = true;
  clock.aheadMs = 9 * minuteMs;
  const again = await service.post(path, lost, key);
  assert.equal(again.status, 504);
  assert.match(again.json.body.error.message, /may still be made until \d{4}-/);
  clock.aheadMs = 18 * minuteMs;
  const asked = chargesRequested(stripe);
  stripe.repair();
  const payment = await paymentAfter(service, first.headers.get('location') ?? '', ['in_doubt']);
  assert.equal(payment.status, 'succeeded');
  assert.ok(chargesRequested(stripe) > asked, 'nine minutes later it is still retried');
  assert.equal(stripe.charges.length, 1);
});

test('canceling a charge in doubt frees its seat', async (t) => {
  const { service, stripe, clock } = await startWithStripe(t, { file: writeSettings(t, settings) });
  const lost = { ...chargeRequest, token: 'pm_error_before_charging', metadata };
  const first = await service.post(path, lost, key);
  assert.equal(first.status, 504);
  const held = await service.post(path, { ...chargeRequest, token: 'pm_card_visa', metadata });
  assert.deepEqual([held.status, held.json.body.error.code], [409, 'item_exists']);
  assert.match(held.json.body.error.message, /holds the item .* It ends by \d{4}-/);
  const at = first.headers.get('location') ?? '';
  const canceling = await service.post(`${at}/cancel`, {});
  assert.equal(canceling.json.body.status, 'in_doubt', 'Stripe may still process it for a minute');
  clock.aheadMs = 2 * minuteMs;
  const canceled = await paymentAfter(service, at, ['in_doubt']);
  assert.deepEqual([canceled.status, canceled.decline_code], ['declined', 'canceled']);
  const free = await service.post(path, { ...chargeRequest, token: 'pm_card_visa', metadata });
  assert.equal(free.status, 200, free.text);
  assert.equal(stripe.charges.length, 1);
});

test('a charge that was made cannot be canceled: the response says that it succeeded', async (t) => {
  const { service, stripe } = await startWithStripe(t);
  const lost = await service.post(path, { ...chargeRequest, token: 'pm_dropped_after_charging' }, key);
  const at = lost.headers.get('location') ?? '';
  const canceled = await service.post(`${at}/cancel`, undefined);
  assert.deepEqual([canceled.status, canceled.json.body.status], [200, 'succeeded']);
  const rejected = await service.post(`${at}/cancel`, {});
  assert.deepEqual([rejected.status, rejected.json.body.error.code], [400, 'invalid_request']);
  assert.equal(stripe.charges.length, 1);
});

test('a charge in doubt ends although the settings no longer allow its table', async (t) => {
  const { service, stripe } = await startWithStripe(t, { file: writeSettings(t, settings) });
  const lost = await service.post(
    path,
    { ...chargeRequest, token: 'pm_dropped_after_charging', metadata },
    key,
  );
  assert.equal(lost.status, 504);
  await service.stop();
  const other = { tables: { policy: 'declared', declared: ['books'] } };
  const file = writeSettings(t, other);
  stripe.repair();
  const next = await startWithStripe(t, { stripe, data: service.data, file, ownerSilenceMsMax: 300 });
  const payment = await paymentAfter(next.service, lost.headers.get('location') ?? '', [
    'calling',
    'in_doubt',
  ]);
  assert.deepEqual([payment.status, payment.item.status], ['succeeded', 'conflict']);
});
