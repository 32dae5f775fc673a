import assert from 'node:assert/strict';
import { test } from 'node:test';
import { writeSettings } from '../support/payments/settings-file.ts';
import { chargeRequest, path, startWithStripe } from '../support/payments/stripe-service.ts';
import { deliveryOf, eventOf, eventsOf, post } from '../support/stripe/events.ts';

const key = { 'idempotency-key': 'order-1042' };
const seat = { table: 'seats', id: 'metadata.seat', name: 'payment_id' };
const settings = { payments: { routes: { charge: { on_success: seat } } } };
const metadata = { seat: '12A' };

/** A signed event that the charge of a payment succeeded after all. */
function succeeded(paymentId: string) {
  return deliveryOf(
    eventOf('payment_intent.succeeded', {
      id: 'pi_proof',
      created: Math.floor(Date.now() / 1_000),
      object: 'payment_intent',
      status: 'succeeded',
      latest_charge: 'ch_proof',
      last_payment_error: null,
      metadata: { counterfoil_payment_id: paymentId },
    } as never),
  );
}

test('a signed success overrides a decline: record, response, item, log and metric', async (t) => {
  const { service } = await startWithStripe(t, { file: writeSettings(t, settings) });
  const request = { ...chargeRequest, token: 'tok_insufficient_funds', metadata };
  const declined = await service.post(path, request, key);
  assert.equal(declined.status, 402);
  const id = declined.headers.get('payment-id') ?? '';
  assert.equal(await post(`${service.origin}/stage/events/stripe`, succeeded(id)), 200);

  const payment = (await service.get(`${path}/${id}`)).json.body;
  assert.deepEqual(
    [payment.status, payment.charge_id, payment.decline_code, payment.item.status],
    ['succeeded', 'ch_proof', null, 'made'],
  );
  const again = await service.post(path, request, key);
  assert.deepEqual([again.status, again.json.body.message.charge_id], [200, 'ch_proof']);
  assert.match(service.logged(), /"level":"error".*"event":"decline_overridden"/);
  const metrics = await service.get('/metrics');
  assert.match(metrics.text, /counterfoil_charges_overridden_total\{processor="stripe"\} 1/);
});

test('a signed success whose item was sold meanwhile needs review, and is found by its charge', async (t) => {
  const { service } = await startWithStripe(t, { file: writeSettings(t, settings) });
  const declined = await service.post(
    path,
    { ...chargeRequest, token: 'tok_insufficient_funds', metadata },
    key,
  );
  const id = declined.headers.get('payment-id') ?? '';
  assert.equal((await service.post(path, { ...chargeRequest, token: 'tok_paid', metadata })).status, 200);
  assert.equal(await post(`${service.origin}/stage/events/stripe`, succeeded(id)), 200);
  const payment = (await service.get(`${path}/${id}`)).json.body;
  assert.deepEqual([payment.status, payment.charge_id], ['needs_review', 'ch_proof']);
  const again = await service.post(
    path,
    { ...chargeRequest, token: 'tok_insufficient_funds', metadata },
    key,
  );
  assert.deepEqual([again.status, again.json.body.error.retryable], [504, false]);
});

test('no event changes a payment that has succeeded', async (t) => {
  const { service, stripe } = await startWithStripe(t);
  const paid = await service.post(path, { ...chargeRequest, token: 'tok_paid' });
  const [intent] = stripe.records().intents;
  assert.ok(intent !== undefined && eventsOf(stripe.records()).length > 0);
  const failed = eventOf('payment_intent.payment_failed', {
    ...intent,
    status: 'requires_payment_method',
    last_payment_error: { code: 'card_declined' },
  } as never);
  assert.equal(await post(`${service.origin}/stage/events/stripe`, deliveryOf(failed)), 200);
  assert.equal((await service.get(paid.headers.get('location') ?? '')).json.body.status, 'succeeded');
});
