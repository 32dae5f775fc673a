import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Stripe } from 'stripe';
import { givenUpMs } from '../support/busy-machine.ts';
import { assertAbsent } from '../support/canaries.ts';
import { countedDuring, Scraped } from '../support/metrics.ts';
import { startTestService } from '../support/service.ts';
import { goToCallback, register, signIn, signInPath, startSignIn } from '../support/sign-in/signing-in.ts';
import { startScriptedStripe } from '../support/stripe/scripted-stripe.ts';

const charge = '/stage/payment/simulated/charge';
const charges = 'counterfoil_charges_total';
const requests = 'counterfoil_http_requests_total';
const chargeBody = (token: string) => ({ amount: 1_050, currency: 'EUR', token });

test('metrics: requests are counted and timed by route pattern, method and status', async (t) => {
  const service = await startTestService(t);
  const item = { id: 'a', name: 'b' };
  const counted = await countedDuring(service, async () => {
    await service.post('/v3/table/books/create', item);
    await service.post('/v3/table/records/create', item);
    await service.post('/v3/table/books/create', item);
    await service.get('/v3/table/books/read');
    await service.send('HEAD', '/v3/table/books/read');
  });
  const create = '/v3/table/:TABLE_NAME/create';
  const read = '/v3/table/:TABLE_NAME/read';
  assert.equal(counted(requests, { route: create, method: 'POST', status: '200' }), 2);
  assert.equal(counted(requests, { route: create, method: 'POST', status: '409' }), 1);
  assert.equal(counted(requests, { route: read, method: 'GET', status: '200' }), 1);
  assert.equal(counted(requests, { route: read, method: 'HEAD', status: '200' }), 1);
  assert.equal(counted('counterfoil_http_request_duration_seconds_count', { route: create }), 3);
  assert.equal(counted('counterfoil_http_request_duration_seconds_bucket', { route: create, le: '+Inf' }), 3);
  assert.ok(counted('counterfoil_http_request_duration_seconds_sum', { route: create }) > 0);
  assert.equal(counted('counterfoil_http_errors_total', { code: 'item_exists' }), 1);
});

test('metrics: no label has a value that a caller sent', async (t) => {
  const service = await startTestService(t);
  const counted = await countedDuring(service, async () => {
    for (const canary of ['canary-one', 'canary-two']) {
      await service.get(`/${canary}`);
      await service.get(`/v3/table/${canary}/nothing`);
      await service.get(`/v3/table/books/read?${canary}=1`);
      await service.get(`/%zz${canary}`);
      await service.send('PROPFIND', `/v3/table/${canary}/read`);
      await service.get(`/v3/auth/${canary}/${canary}/sign-in`);
      await service.post(`/stage/payment/${canary}/${canary}`, chargeBody('tok_paid'));
      await service.post(`/stage/payment/simulated/${canary}`, chargeBody('tok_paid'));
      await service.post(`/stage/events/${canary}`, {});
    }
  });
  assert.equal(counted(requests, { route: 'none' }), 8);
  assert.equal(counted(requests, { route: 'none', method: 'other' }), 2);
  const { text } = await Scraped.from(service);
  assert.ok(!text.includes('canary') && !text.includes('PROPFIND'), text);
});

test('metrics: a charge, a decline, a lost reply and a refund are counted by processor, route and state', async (t) => {
  const service = await startTestService(t);
  const of = (state: string) => ({ processor: 'simulated', payment_route: 'charge', state });
  const counted = await countedDuring(service, async () => {
    const paid = await service.post(charge, chargeBody('tok_paid'), { 'idempotency-key': 'one' });
    await service.post(charge, chargeBody('tok_paid'), { 'idempotency-key': 'one' });
    await service.post(charge, chargeBody('tok_insufficient_funds'));
    await service.post(charge, chargeBody('tok_lost_reply'));
    await service.post(`${paid.headers.get('location')}/refund`, { amount: 50 });
  });
  const states = ['received', 'succeeded', 'declined', 'in_doubt'] as const;
  assert.deepEqual(
    states.map((state) => counted(charges, of(state))),
    [3, 1, 1, 1],
    'a repeated request is not a second charge',
  );
  assert.equal(counted('counterfoil_refunds_total', { processor: 'simulated', state: 'succeeded' }), 1);
  assert.ok(counted('counterfoil_store_commits_total', { outcome: 'committed' }) >= 6);
  assert.ok(counted('counterfoil_store_commit_duration_seconds_count') >= 6);
});

test('metrics: the age of the oldest charge in doubt is exposed until the charge is settled', async (t) => {
  let ahead = 0;
  const service = await startTestService(t, { now: () => Date.now() + ahead });
  const oldest = 'counterfoil_charge_in_doubt_oldest_seconds';
  assert.equal((await Scraped.from(service)).sum(oldest), 0);
  await service.post(charge, chargeBody('tok_lost_reply'));
  const seen = await until(service, (scraped) => scraped.sum('counterfoil_charges_in_doubt') === 1);
  assert.equal(seen.sum('counterfoil_charges_open'), 1);
  // The age advances without another round of recovery.
  ahead = 700_000;
  const aged = (await Scraped.from(service)).sum(oldest);
  const settled = await until(service, (scraped) => scraped.sum('counterfoil_charges_open') === 0);
  assert.ok(aged >= 700, `${aged} s`);
  assert.deepEqual([settled.sum(oldest), settled.sum('counterfoil_charges_in_doubt')], [0, 0]);
});

test('metrics: webhooks are counted by processor and outcome', async (t) => {
  const stripe = await startScriptedStripe(t);
  const secret = 'whsec_OfThisTest';
  const env = { COUNTERFOIL_STRIPE_KEY: stripe.key, COUNTERFOIL_STRIPE_API_BASE: stripe.origin };
  const service = await startTestService(t, {
    env: { ...env, COUNTERFOIL_STRIPE_WEBHOOK_SECRETS: secret },
  });
  const paid = await service.post('/stage/payment/stripe/charge', chargeBody('tok_dropped_after_charging'));
  const object = {
    id: 'pi_1',
    object: 'payment_intent',
    status: 'succeeded',
    metadata: { counterfoil_payment_id: paid.headers.get('payment-id') },
    last_payment_error: null,
    latest_charge: stripe.charges[0]?.chargeId,
  };
  const eventOf = (fields: object) => ({
    id: 'evt_1',
    object: 'event',
    created: 1,
    data: { object },
    ...fields,
  });
  const deliver = (event: object, key = secret) => {
    const payload = JSON.stringify(event);
    const header = new Stripe('sk_test_unused').webhooks.generateTestHeaderString({ payload, secret: key });
    return service.post('/stage/events/stripe', payload, { 'stripe-signature': header });
  };
  const counted = await countedDuring(service, async () => {
    await deliver(eventOf({ type: 'payment_intent.succeeded' }));
    await deliver(eventOf({ type: 'payment_intent.succeeded' }));
    await deliver(eventOf({ id: 'evt_2', type: 'customer.created' }));
    await deliver(eventOf({ type: 'payment_intent.succeeded' }), 'whsec_other');
  });
  for (const outcome of ['taken', 'repeated', 'irrelevant', 'invalid_signature'])
    assert.equal(counted('counterfoil_webhooks_total', { processor: 'stripe', outcome }), 1, outcome);
  assert.equal(counted(charges, { processor: 'stripe', state: 'succeeded' }), 1);
});

test('metrics: sign-ins are counted as begun, finished, or failed by reason', async (t) => {
  const signing = await startSignIn(t);
  const { service, provider, browser } = signing;
  const counted = await countedDuring(service, async () => {
    const callback = await goToCallback(signing);
    assert.equal((await browser.open(callback)).status, 303);
    await service.get(callback.slice(service.origin.length));
    await register(service, provider, 'other');
    await service.get(`${signInPath}?return_to=https%3A%2F%2Felsewhere.example%2F`);
    provider.twists = { claims: (honest) => ({ ...honest, nonce: 'x' }) };
    await signIn(signing);
  });
  const outcomes = { begun: 2, finished: 1, other_browser: 1, return_address: 1, untrusted: 1 };
  for (const [outcome, times] of Object.entries(outcomes))
    assert.equal(counted('counterfoil_sign_ins_total', { provider: 'oidc', outcome }), times, outcome);
});

test('metrics: the response has the Prometheus format, no envelope and no secret', async (t) => {
  const canary = 'canary-4711-of-metrics';
  const service = await startTestService(t);
  const card = '4242424242424242';
  await service.post('/v3/create/service/auth/google/web', {
    IDP_CLIENT_ID: `${canary}-client`,
    IDP_CLIENT_SECRET: `${canary}-secret`,
  });
  await service.post('/v3/table/canaries/create', { id: `${canary}-id`, name: `${canary}-name` });
  await service.post(charge, chargeBody('tok_paid'), { 'idempotency-key': `${canary}-key` });
  await service.post(charge, {
    ...chargeBody('tok_paid'),
    token: `${canary}-token`,
    metadata: { [canary]: canary },
  });
  await service.post(charge, chargeBody(card));
  await service.get(`/v3/auth/google/web/callback?state=${canary}&code=${canary}`);
  await service.get('/v3/table/canaries/read', { authorization: `Bearer cfk_${canary}` });
  const response = await service.get('/metrics');
  assert.equal(response.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
  assert.equal(response.headers.get('cache-control'), 'no-store');
  for (const line of response.text.split('\n'))
    assert.match(line, /^(# (HELP|TYPE) \w+ .+|\w+(\{\w+="[^"\\]*"(,\w+="[^"\\]*")*\})? [-+.e\d]+|)$/);
  assertAbsent([canary, 'canaries', card], { metrics: Buffer.from(response.text) });
  const rejected = await service.get('/metrics?format=x', { via: 'proxy' });
  assert.equal(rejected.json.statusCode, rejected.status, 'an error is in the envelope');
});

/** Scrapes until the condition holds. A round of recovery runs every second. */
async function until(
  service: Parameters<typeof Scraped.from>[0],
  isSo: (scraped: Scraped) => boolean,
): Promise<Scraped> {
  const giveUpAt = Date.now() + givenUpMs;
  for (;;) {
    const scraped = await Scraped.from(service);
    if (isSo(scraped)) return scraped;
    assert.ok(Date.now() < giveUpAt, scraped.text);
  }
}
