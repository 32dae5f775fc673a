import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Stripe } from 'stripe';
import { startTestService, type TestResponse, type TestService } from '../support/service.ts';
import { type ScriptedStripe, startScriptedStripe } from '../support/stripe/scripted-stripe.ts';

const path = '/stage/payment/stripe/charge';
const eventsPath = '/stage/events/stripe';
const request = { amount: 2_000, currency: 'EUR', token: 'tok_paid' };
const secret = 'whsec_OfThisTest';
const signer = new Stripe('sk_test_unused');

interface Started {
  readonly service: TestService;
  readonly stripe: ScriptedStripe;
  pay(token?: string): Promise<{ readonly id: string; readonly at: string; readonly status: number }>;
  /** Delivers an event, signed by Stripe unless another signature is given. */
  deliver(event: object, header?: string): Promise<TestResponse>;
}

async function start(t: TestContext): Promise<Started> {
  const stripe = await startScriptedStripe(t);
  const service = await startTestService(t, {
    env: {
      COUNTERFOIL_STRIPE_KEY: stripe.key,
      COUNTERFOIL_STRIPE_API_BASE: stripe.origin,
      COUNTERFOIL_STRIPE_WEBHOOK_SECRETS: `whsec_former,${secret}`,
    },
  });
  const pay = async (token = 'tok_paid') => {
    const response = await service.post(path, { ...request, token });
    const id = response.headers.get('payment-id') ?? '';
    return { id, at: `${path}/${id}`, status: response.status };
  };
  const deliver = (event: object, header?: string) => {
    const payload = JSON.stringify(event);
    return service.post(eventsPath, payload, { 'stripe-signature': header ?? signed(payload) });
  };
  return { service, stripe, pay, deliver };
}

function signed(payload: string, timestamp = Math.floor(Date.now() / 1_000)): string {
  return signer.webhooks.generateTestHeaderString({ payload, secret, timestamp });
}

let events = 0;
function event(type: string, object: object, created = Math.floor(Date.now() / 1_000)) {
  return { id: `evt_${++events}`, object: 'event', type, created, data: { object } };
}

function intent(paymentId: string, fields: object) {
  return {
    id: 'pi_1',
    object: 'payment_intent',
    metadata: { counterfoil_payment_id: paymentId },
    last_payment_error: null,
    ...fields,
  };
}

async function payment(service: TestService, at: string) {
  return (await service.get(at)).json.body;
}

test('an event settles a charge in doubt before the caller retries', async (t) => {
  const { service, stripe, pay, deliver } = await start(t);
  const { id, at, status } = await pay('tok_dropped_after_charging');
  assert.equal(status, 504);
  const chargeId = stripe.charges[0]?.chargeId ?? '';
  const taken = await deliver(
    event('payment_intent.succeeded', intent(id, { status: 'succeeded', latest_charge: chargeId })),
  );
  assert.deepEqual([taken.status, taken.json.body], [200, { message: 'Event taken' }]);
  const recorded = await payment(service, at);
  assert.deepEqual([recorded.status, recorded.charge_id], ['succeeded', chargeId]);
});

test('an event that arrives before the reply settles the charge, and the caller gets the same outcome', async (t) => {
  const { service, stripe, deliver } = await start(t);
  const paying = service.post(
    path,
    { ...request, token: 'tok_never_replies' },
    { 'idempotency-key': 'order-7' },
  );
  while (stripe.charges.length === 0) await sleep(10);
  const { chargeId, paymentId } = stripe.charges[0] as { chargeId: string; paymentId: string };
  await deliver(
    event('payment_intent.succeeded', intent(paymentId, { status: 'succeeded', latest_charge: chargeId })),
  );
  const again = await service.post(
    path,
    { ...request, token: 'tok_never_replies' },
    { 'idempotency-key': 'order-7' },
  );
  assert.deepEqual([again.status, again.json.body.message.charge_id], [200, chargeId]);
  void paying.catch(() => undefined);
});

test('a decline that an event reports is a decline', async (t) => {
  const { service, pay, deliver } = await start(t);
  const { id, at } = await pay('tok_declined_and_dropped');
  const failed = {
    status: 'requires_payment_method',
    last_payment_error: { code: 'card_declined', decline_code: 'insufficient_funds' },
  };
  await deliver(event('payment_intent.payment_failed', intent(id, failed)));
  const recorded = await payment(service, at);
  assert.deepEqual([recorded.status, recorded.decline_code], ['declined', 'insufficient_funds']);
});

test('no event changes a final outcome, however often and late it arrives', async (t) => {
  const { service, pay, deliver } = await start(t);
  const { id, at } = await pay();
  const before = await payment(service, at);
  const failed = event(
    'payment_intent.payment_failed',
    intent(id, { status: 'requires_payment_method', last_payment_error: { code: 'card_declined' } }),
  );
  for (const _again of [1, 2, 3]) assert.equal((await deliver(failed)).status, 200);
  const other = event(
    'payment_intent.succeeded',
    intent(id, { status: 'succeeded', latest_charge: 'ch_other' }),
  );
  await deliver(other);
  assert.deepEqual(await payment(service, at), before);
});

test('records a refund that was made in the dashboard once, whatever the order of its events', async (t) => {
  const { service, pay, deliver } = await start(t);
  const { at } = await pay();
  const { charge_id: charge } = await payment(service, at);
  const refund = { id: 're_dashboard', object: 'refund', charge, amount: 500, currency: 'eur', metadata: {} };
  const updated = event('refund.updated', { ...refund, status: 'succeeded' });
  await deliver(updated);
  await deliver(event('refund.created', { ...refund, status: 'pending' }));
  await deliver(updated);
  const recorded = await payment(service, at);
  assert.equal(recorded.amount_refunded, 500);
  assert.deepEqual(
    recorded.refunds.map(({ refund_id: id, status }: { refund_id: string; status: string }) => [id, status]),
    [['re_dashboard', 'succeeded']],
  );
  const response = await service.post(`${at}/refund`, { amount: 1_501 });
  assert.deepEqual([response.status, response.json.body.error.param], [400, 'amount']);
});

test('a refund that the bank returns days later has failed, and its amount is refundable again', async (t) => {
  const { service, pay, deliver } = await start(t);
  const { at } = await pay();
  const { charge_id: charge } = await payment(service, at);
  const refund = { id: 're_1', object: 'refund', charge, amount: 2_000, currency: 'eur', metadata: {} };
  await deliver(event('refund.created', { ...refund, status: 'succeeded' }));
  await deliver(event('refund.failed', { ...refund, status: 'failed' }));
  await deliver(event('refund.updated', { ...refund, status: 'succeeded' }));
  const recorded = await payment(service, at);
  assert.deepEqual([recorded.amount_refunded, recorded.refunds[0].status], [0, 'failed']);
});

test('a dispute keeps its latest status, whatever the order of its events', async (t) => {
  const { service, pay, deliver } = await start(t);
  const { at } = await pay();
  const { charge_id: charge } = await payment(service, at);
  const dispute = {
    id: 'dp_1',
    object: 'dispute',
    charge,
    amount: 2_000,
    currency: 'eur',
    reason: 'fraudulent',
  };
  const now = Math.floor(Date.now() / 1_000);
  await deliver(event('charge.dispute.closed', { ...dispute, status: 'won' }, now + 60));
  await deliver(event('charge.dispute.created', { ...dispute, status: 'needs_response' }, now));
  const recorded = await payment(service, at);
  assert.equal(recorded.status, 'succeeded');
  assert.deepEqual(recorded.disputes, [{ id: 'dp_1', amount: 2_000, status: 'won', reason: 'fraudulent' }]);
});

test('accepts and ignores events that concern none of our payments', async (t) => {
  const { deliver } = await start(t);
  for (const each of [
    event('customer.created', { id: 'cus_1', object: 'customer' }),
    event(
      'payment_intent.succeeded',
      intent(`pay_${'0'.repeat(32)}`, { status: 'succeeded', latest_charge: 'ch_1' }),
    ),
    event('payment_intent.succeeded', { ...intent('', { status: 'succeeded' }), metadata: {} }),
    event('refund.created', {
      id: 're_1',
      charge: 'ch_foreign',
      amount: 5,
      currency: 'eur',
      status: 'succeeded',
    }),
  ]) {
    assert.equal((await deliver(each)).status, 200);
  }
});

test('rejects an event that Stripe has not signed, and changes nothing', async (t) => {
  const { service, pay, deliver } = await start(t);
  const { id, at } = await pay('tok_error_before_charging');
  const unsignedEvent = event(
    'payment_intent.succeeded',
    intent(id, { status: 'succeeded', latest_charge: 'ch_forged' }),
  );
  const payload = JSON.stringify(unsignedEvent);
  const now = Math.floor(Date.now() / 1_000);
  const byOther = signer.webhooks.generateTestHeaderString({ payload, secret: 'whsec_other' });
  const headers = {
    'another secret': byOther,
    'too old': signed(payload, now - 301),
    'another body': signed(`${payload} `),
    'no signature': 't=1,v1=',
    nothing: '',
    'another scheme': signed(payload).replace('v1=', 'v0='),
  };
  for (const [what, header] of Object.entries(headers)) {
    const response = await deliver(unsignedEvent, header);
    assert.deepEqual([response.status, response.json.body.error.code], [401, 'unauthenticated'], what);
  }
  const unsigned = await service.post(eventsPath, payload);
  assert.equal(unsigned.status, 401);
  assert.notEqual((await payment(service, at)).status, 'succeeded');
});

test('accepts an event through a tunnel: its signature proves its origin', async (t) => {
  const { service, pay } = await start(t);
  const { id, at } = await pay('tok_dropped_after_charging');
  const payload = JSON.stringify(
    event('payment_intent.succeeded', intent(id, { status: 'succeeded', latest_charge: 'ch_1' })),
  );
  const response = await service.post(eventsPath, payload, {
    'stripe-signature': signed(payload),
    'x-forwarded-for': '203.0.113.7',
    'content-type': 'application/json; charset=utf-8',
  });
  assert.equal(response.status, 200);
  assert.equal((await payment(service, at)).status, 'succeeded');
});

for (const [processor, status, code] of [
  ['paypal', 404, 'processor_not_found'],
  ['square', 503, 'processor_not_configured'],
  ['simulated', 503, 'processor_not_configured'],
] as const) {
  test(`rejects events of ${processor}`, async (t) => {
    const { service } = await start(t);
    const response = await service.post(`/stage/events/${processor}`, '{}');
    assert.deepEqual([response.status, response.json.body.error.code], [status, code]);
  });
}

test('a refund event that arrives before its charge is settled is not lost', async (t) => {
  const { service, stripe, pay, deliver } = await start(t);
  const { at } = await pay('tok_dropped_after_charging');
  const charge = stripe.charges[0]?.chargeId ?? '';
  const refund = { id: 're_1', object: 'refund', charge, amount: 500, currency: 'eur', metadata: {} };
  const refundEvent = event('refund.created', { ...refund, status: 'succeeded' });
  stripe.turnsAway = true;
  const early = await deliver(refundEvent);
  assert.deepEqual([early.status, early.json.body.error.code], [503, 'unavailable'], 'Stripe sends it again');
  assert.notEqual(early.headers.get('retry-after'), null);
  stripe.turnsAway = false;
  assert.equal((await deliver(refundEvent)).status, 200);
  const { amount_refunded: refunded, refunds } = await payment(service, at);
  assert.deepEqual([refunded, refunds[0].refund_id], [500, 're_1']);
});
