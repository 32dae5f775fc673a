import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Payment, paymentsSpace } from '../../src/payments/payment.ts';
import { runCommand } from '../support/command.ts';
import { writeSettings } from '../support/payments/settings-file.ts';
import { chargeRequest, path, startWithStripe } from '../support/payments/stripe-service.ts';
import { openStoreOf } from '../support/service.ts';
import { deliveryOf, eventOf, post } from '../support/stripe/events.ts';

const seat = { table: 'seats', id: 'metadata.seat', name: 'payment_id' };
const settings = { payments: { routes: { charge: { on_success: seat } } } };
const metadata = { seat: '12A' };

/** A signed event about the charge of a payment; each `created` makes a different event. */
function eventAbout(paymentId: string, status: 'succeeded' | 'requires_payment_method', created: number) {
  const isPaid = status === 'succeeded';
  const type = isPaid ? 'payment_intent.succeeded' : 'payment_intent.payment_failed';
  return deliveryOf(
    eventOf(type, {
      id: 'pi_proof',
      created,
      object: 'payment_intent',
      status,
      latest_charge: isPaid ? 'ch_proof' : 'ch_failed',
      last_payment_error: isPaid ? null : { code: 'card_declined' },
      metadata: { counterfoil_payment_id: paymentId },
    } as never),
  );
}

/** A declined payment whose seat was sold to another buyer, and which a signed event then proves to have succeeded. */
async function chargedWithoutSeat(t: TestContext) {
  const started = await startWithStripe(t, { file: writeSettings(t, settings) });
  const { service } = started;
  const declined = await service.post(path, { ...chargeRequest, token: 'tok_insufficient_funds', metadata });
  const id = declined.headers.get('payment-id') ?? '';
  assert.equal((await service.post(path, { ...chargeRequest, token: 'tok_paid', metadata })).status, 200);
  const now = Math.floor(Date.now() / 1_000);
  const deliver = (status: 'succeeded' | 'requires_payment_method', created: number) =>
    post(`${service.origin}/stage/events/stripe`, eventAbout(id, status, created));
  assert.equal(await deliver('succeeded', now), 200);
  const read = async () => (await service.get(`${path}/${id}`)).json.body;
  assert.equal((await read()).status, 'needs_review');
  return { ...started, id, deliver, read, now };
}

/** Stores the payment as under review: charged, and its item belongs to another payment. */
async function asReviewedCharge(data: string, id: string): Promise<void> {
  const engine = await openStoreOf(data);
  const text = (await engine.get(paymentsSpace, id)) ?? '';
  const payment = JSON.parse(text) as Payment;
  const { item } = payment;
  const reviewed = { ...payment, state: 'needs_review', item: { ...item, state: 'conflict' } };
  const value = JSON.stringify(reviewed);
  await engine.commit([{ kind: 'replace', space: paymentsSpace, id, value }]);
  await engine.close();
}

test('a failure event that arrives late does not decline a payment that is proven to be charged', async (t) => {
  const { deliver, read, now } = await chargedWithoutSeat(t);
  assert.equal(await deliver('requires_payment_method', now - 60), 200);
  const payment = await read();
  assert.deepEqual([payment.status, payment.charge_id], ['needs_review', 'ch_proof']);
});

test('a second event about the same charge does not end the review of its payment', async (t) => {
  const { deliver, read, now } = await chargedWithoutSeat(t);
  assert.equal(await deliver('succeeded', now + 1), 200);
  assert.equal((await read()).status, 'needs_review');
});

test('a late failure event neither declines a charge under review nor frees a seat that is being paid for', async (t) => {
  const { service, stripe, deliver, read, now } = await chargedWithoutSeat(t);
  const removed = await service.send('DELETE', '/v3/table/seats/delete', { id: '12A' });
  assert.equal(removed.status, 200, removed.text);
  const paying = service.post(path, { ...chargeRequest, token: 'pm_worked_on', metadata });
  while (stripe.records().intents.length < 3) await sleep(20);
  await deliver('requires_payment_method', now - 60);
  const other = await service.post(path, { ...chargeRequest, token: 'pm_card_visa', metadata });
  stripe.repair();
  await paying;
  assert.deepEqual([(await read()).status, other.status], ['needs_review', 409]);
});

test('payments resolve --succeeded ends the review of a charge whose seat was sold', async (t) => {
  const { service, stripe } = await startWithStripe(t, { file: writeSettings(t, settings) });
  const lost = await service.post(path, { ...chargeRequest, token: 'tok_paid', metadata: { seat: '1A' } });
  const chargeId = stripe.charges[0]?.chargeId ?? '';
  const id = lost.headers.get('payment-id') ?? '';
  await service.stop();
  await asReviewedCharge(service.data, id);
  const resolved = await runCommand(['payments', 'resolve', id, '--succeeded', chargeId], {
    COUNTERFOIL_DATA: service.data,
    COUNTERFOIL_STRIPE_KEY: stripe.key,
    COUNTERFOIL_STRIPE_API_BASE: stripe.origin,
  });
  assert.deepEqual([resolved.status, resolved.output], [0, `${id} is succeeded\n`], resolved.errors);
});

test('a seat that is being paid for is not given to a payment that was declined before', async (t) => {
  const { service, stripe } = await startWithStripe(t, { file: writeSettings(t, settings) });
  const declined = await service.post(path, { ...chargeRequest, token: 'tok_insufficient_funds', metadata });
  const id = declined.headers.get('payment-id') ?? '';
  const paying = service.post(path, { ...chargeRequest, token: 'pm_worked_on', metadata });
  while (stripe.records().intents.length < 2) await sleep(20);
  const now = Math.floor(Date.now() / 1_000);
  const proof = eventAbout(id, 'succeeded', now);
  assert.equal(await post(`${service.origin}/stage/events/stripe`, proof), 200);
  stripe.repair();
  const paid = await paying;
  assert.equal(paid.status, 200);
  const buyer = (await service.get(paid.headers.get('location') ?? '')).json.body;
  const earlier = (await service.get(`${path}/${id}`)).json.body;
  assert.deepEqual([buyer.item.status, earlier.status], ['made', 'needs_review']);
});
