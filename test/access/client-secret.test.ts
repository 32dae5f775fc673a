import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { bearing, newKey, startServiceWithKeys } from '../support/access/keys.ts';
import { givenUpMs } from '../support/busy-machine.ts';
import { payment } from '../support/http/documented-operations.ts';
import { assertError } from '../support/http/error-response.ts';
import { payerPrice } from '../support/payments/payer-price.ts';
import { writeSettings } from '../support/payments/settings-file.ts';
import { startWithStripe } from '../support/payments/stripe-service.ts';
import { newDataFolder, startTestService, type TestResponse, type TestService } from '../support/service.ts';
import { deliveryOf, disputeOf, eventOf, post } from '../support/stripe/events.ts';
import type { Charge } from '../support/stripe/objects.ts';

const origin = 'https://shop.example';
const noLimits = {
  COUNTERFOIL_LIMIT_CHARGES: '0',
  COUNTERFOIL_LIMIT_DECLINES: '0',
  COUNTERFOIL_LIMIT_REQUESTS: '0',
};

interface Bought {
  readonly at: string;
  readonly secret: string;
}

async function start(t: TestContext, env: Readonly<Record<string, string>> = noLimits) {
  const { service, keys } = await startServiceWithKeys(
    t,
    {
      shop: { kind: 'publishable', scopes: ['payments:create'], origins: [origin] },
      server: { scopes: ['payments:create', 'payments:read'] },
      admin: { scopes: ['admin'] },
    },
    { env },
  );
  const pay = (fields: object = {}, headers: Record<string, string> = {}) =>
    service.post(payment.path, { ...payment.body, ...fields }, { ...bearing(keys.shop), origin, ...headers });
  const buy = async (token?: string) => boughtBy(await pay(token === undefined ? {} : { token }));
  return { service, keys, pay, buy };
}

function boughtBy({ headers }: TestResponse): Bought {
  return {
    at: headers.get('location') ?? '',
    secret: headers.get('payment-client-secret') ?? '',
  };
}

function read(service: TestService, at: string, secret: string, method = 'GET') {
  return service.send(method, at, undefined, { 'payment-client-secret': secret, origin });
}

test('reads its payment without a key: what is the shop’s own is empty', async (t) => {
  const { service, keys, pay } = await start(t);
  const paid = await pay({ metadata: { cart: '1' } });
  const { at, secret } = boughtBy(paid);
  assert.match(secret, /^pcs_[A-Za-z0-9_-]{43}$/);
  const found = await read(service, at, secret);
  assert.equal(found.status, 200, found.text);
  const whole = (await service.get(at, bearing(keys.server))).json.body;
  assert.deepEqual(whole.metadata, { cart: '1' });
  assert.deepEqual(found.json.body, { ...whole, metadata: {}, disputes: [] });
  assert.equal((await read(service, at, secret, 'HEAD')).status, 200);
});

test('shows the buyer the refunds of the payment, and no dispute', async (t) => {
  const data = newDataFolder(t);
  const key = await newKey(data, { kind: 'publishable', scopes: ['payments:create'], origins: [origin] });
  const { service, stripe } = await startWithStripe(t, { data, file: writeSettings(t, payerPrice) });
  const path = '/stage/payment/stripe/charge';
  const paid = await service.post(path, payment.body, { ...bearing(key), origin });
  const { at, secret } = boughtBy(paid);
  assert.equal((await service.post(`${at}/refund`, { amount: 250 })).status, 200);
  const dispute = eventOf('charge.dispute.created', disputeOf(stripe.records().charges[0] as Charge));
  assert.equal(await post(`${service.origin}/stage/events/stripe`, deliveryOf(dispute)), 200);
  const shops = (await service.get(at)).json.body;
  const buyers = (await read(service, at, secret)).json.body;
  assert.deepEqual([shops.disputes.length, buyers.disputes], [1, []]);
  assert.deepEqual([buyers.amount_refunded, buyers.refunds], [250, shops.refunds]);
});

test('a browser follows a 504 to its outcome with the secret alone', async (t) => {
  const { service, pay } = await start(t);
  const lost = await pay({ token: 'tok_lost_reply' }, { 'idempotency-key': 'cart-1' });
  assert.equal(lost.status, 504);
  const { at, secret } = boughtBy(lost);
  const giveUpAt = Date.now() + givenUpMs;
  for (;;) {
    const { status, json } = await read(service, at, secret);
    assert.equal(status, 200);
    if (json.body.status === 'succeeded') break;
    assert.ok(Date.now() < giveUpAt, `it is still ${json.body.status}`);
    await sleep(50);
  }
});

test('each response to a publishable key that names a payment has its secret, and always the same one', async (t) => {
  const { pay } = await start(t);
  for (const [token, status] of [
    ['tok_paid', 200],
    ['tok_lost_card', 402],
    ['tok_processor_error', 502],
    ['tok_lost_reply', 504],
    ['tok_nothing', 400],
  ] as const) {
    const key = { 'idempotency-key': `order-of-${token}` };
    const first = await pay({ token }, key);
    assert.deepEqual([first.status, first.headers.has('payment-id')], [status, true]);
    assert.match(boughtBy(first).secret, /^pcs_/, token);
    // After a 502 the key is free, and the next request makes another payment.
    if (status !== 502) assert.deepEqual(boughtBy(await pay({ token }, key)), boughtBy(first), token);
  }
  const concurrent = await Promise.all(
    Array.from({ length: 4 }, () => pay({ token: 'tok_slow' }, { 'idempotency-key': 'order-at-once' })),
  );
  assert.equal(new Set(concurrent.map((each) => boughtBy(each).secret)).size, 1);
  for (const nameless of [await pay({ amount: 0 }), await pay({ token: 'tok_paid', note: 1 })]) {
    assert.deepEqual([nameless.status, nameless.headers.has('payment-client-secret')], [400, false]);
  }
});

test('a secret key, and a service without keys, get no secret', async (t) => {
  const { service, keys } = await start(t);
  const paid = await service.post(payment.path, payment.body, bearing(keys.server));
  assert.deepEqual([paid.status, paid.headers.has('payment-client-secret')], [200, false]);
  const open = await startTestService(t);
  const charged = await open.post(payment.path, payment.body);
  assert.deepEqual([charged.status, charged.headers.has('payment-client-secret')], [200, false]);
});

test('with a wrong secret, an existing payment and one that does not exist are the same', async (t) => {
  const { service, buy } = await start(t);
  const { at, secret } = await buy();
  const other = await buy();
  const nowhere = at.replace(/pay_.*/, `pay_${'0'.repeat(32)}`);
  const elsewhere = [at.replace('/simulated/', '/stripe/'), at.replace('/charge/', '/donation/')];
  const cases: [string, string][] = [
    ['', at],
    ['pcs_', at],
    ['x', at],
    [`${secret}x`, at],
    [secret.slice(0, -1), at],
    [secret.toUpperCase(), at],
    [secret.replace('pcs_', ''), at],
    [`${secret}, ${secret}`, at],
    ['é'.repeat(43), at],
    [other.secret, at],
    ...[nowhere, ...elsewhere, other.at].map((path): [string, string] => [secret, path]),
  ];
  const bodies = new Set<string>();
  for (const [sent, path] of cases) {
    const response = await read(service, path, sent);
    assertError(response, { status: 401, code: 'unauthenticated', param: 'Payment-Client-Secret' });
    bodies.add(response.text.replace(/req_\w+/, ''));
    const { headers } = response;
    assert.equal(headers.get('www-authenticate'), 'Bearer realm="counterfoil"');
  }
  assert.equal(bodies.size, 1);
  assert.equal((await read(service, at, secret)).status, 200);
});

test('a secret opens no other route', async (t) => {
  const { service, buy } = await start(t);
  const { at, secret } = await buy();
  const [, , , processor = '', route = '', id = ''] = at.split('/');
  const values: Readonly<Record<string, string>> = { processor, route_id: route, payment_id: id };
  let rejected = 0;
  for (const { method, url, access } of service.routes) {
    if (access === 'public' || access === 'signed') continue;
    const path = url.replace(/:(\w+)/g, (_, name: string) => values[name] ?? 'x');
    if (path === at) continue;
    const body = ['GET', 'HEAD'].includes(method) ? undefined : {};
    const headers = { 'payment-client-secret': secret, origin };
    const response = await service.send(method, path, body, headers);
    assert.equal(response.status, 401, `${method} ${path}`);
    rejected++;
  }
  assert.ok(rejected > 20, `${rejected}`);
});

test('the secret decides even if the request has a key, so that a page may send its publishable key too', async (t) => {
  const { service, keys, buy } = await start(t);
  const { at, secret } = await buy();
  const withKey = (key: string, text: string) =>
    service.get(at, { ...bearing(key), origin, 'payment-client-secret': text });
  for (const key of [keys.shop, keys.admin, 'cfp_unknown']) {
    const found = await withKey(key, secret);
    assert.deepEqual([found.status, found.json.body.metadata], [200, {}]);
    assertError(await withKey(key, 'pcs_wrong'), {
      status: 401,
      code: 'unauthenticated',
      param: 'Payment-Client-Secret',
    });
  }
  assertError(await service.get(at, { ...bearing(keys.shop), origin }), { status: 403, code: 'forbidden' });
});

test('wrong secrets count for their address', async (t) => {
  const { service } = await start(t, { ...noLimits, COUNTERFOIL_LIMIT_REQUESTS: '20' });
  const at = `${payment.path}/pay_${'0'.repeat(32)}`;
  const responses = await Promise.all(Array.from({ length: 60 }, () => read(service, at, 'pcs_wrong')));
  const statuses = new Set(responses.map(({ status }) => status));
  assert.deepEqual([...statuses].sort(), [401, 429]);
});

test('pages of the origins of publishable keys may read the payment and the header, and no other page', async (t) => {
  const { service, buy, pay } = await start(t);
  const { at, secret } = await buy();
  const allowed = ({ headers }: TestResponse) => headers.get('access-control-allow-origin');
  const paid = await pay();
  assert.match(paid.headers.get('access-control-expose-headers') ?? '', /(^|, )payment-client-secret(,|$)/);
  const preflight = (from: string, method: string, path: string) =>
    service.send('OPTIONS', path, undefined, {
      origin: from,
      'access-control-request-method': method,
      'access-control-request-headers': 'payment-client-secret',
    });
  const granted = await preflight(origin, 'GET', at);
  assert.deepEqual([granted.status, allowed(granted)], [204, origin]);
  assert.match(granted.headers.get('access-control-allow-headers') ?? '', /payment-client-secret/);
  const evil = 'https://evil.example';
  for (const [from, method, path] of [
    [evil, 'GET', at],
    [origin, 'GET', payment.path],
    [origin, 'POST', `${at}/refund`],
    [origin, 'POST', `${at}/cancel`],
  ] as const) {
    const denied = await preflight(from, method, path);
    assert.deepEqual([denied.status, allowed(denied)], [405, null], `${method} ${path} from ${from}`);
  }
  assert.equal(allowed(await read(service, at, secret)), origin);
  assert.equal(allowed(await read(service, at, 'pcs_wrong')), origin, 'the rejection too');
  const foreign = await service.get(at, { 'payment-client-secret': secret, origin: evil });
  assert.deepEqual([foreign.status, allowed(foreign)], [200, null]);
  assert.equal(foreign.headers.get('vary'), 'origin');
});

test('no log line has a secret, right or wrong', async (t) => {
  const { service, buy } = await start(t);
  const { at, secret } = await buy();
  await read(service, at, secret);
  await read(service, at, `${secret}x`);
  assert.match(service.logged(), /"code":"unauthenticated"/);
  assert.ok(!service.logged().includes('pcs_'));
});
