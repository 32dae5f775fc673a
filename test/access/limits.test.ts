import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { limitedCallersMax, RateLimit } from '../../src/access/limits/rate-limit.ts';
import { countedAddress } from '../../src/addresses.ts';
import { bearing, startServiceWithKeys } from '../support/access/keys.ts';
import { count } from '../support/extent.ts';
import { payment, readPath } from '../support/http/documented-operations.ts';
import { assertError } from '../support/http/error-response.ts';
import { between, randomFrom, seedOf } from '../support/random.ts';
import { startTestService, type TestResponse, type TestService } from '../support/service.ts';

const origin = 'https://shop.example';
const browser = { kind: 'publishable', scopes: ['payments:create'], origins: [origin] } as const;

function pay(
  service: TestService,
  headers: Record<string, string>,
  token = 'tok_paid',
): Promise<TestResponse> {
  return service.post(payment.path, { ...payment.body, token }, headers);
}

/** Pays until a payment is rejected. @returns the number of accepted payments, and the rejection */
async function payAll(service: TestService, headers: Record<string, string>, token?: string) {
  for (let accepted = 0; ; accepted++) {
    const response = await pay(service, headers, token);
    if (response.status !== (token === undefined ? 200 : 402)) return { accepted, response };
    assert.ok(accepted < 100, 'there is no limit');
  }
}

async function payments(service: TestService, key: string): Promise<number> {
  return (await service.get(`${payment.path}?limit=100`, bearing(key))).json.body.length;
}

/** A clock that only the test moves, so that no limit recovers meanwhile. */
function stopClock(t: TestContext) {
  // It has many digits, so that sums with it are not exact.
  let at = performance.now() + 0.1;
  t.mock.method(performance, 'now', () => at);
  return (ms: number) => {
    at += ms;
  };
}

test('a service with keys accepts 60 charges a minute, and rejects the next before anything is reserved', async (t) => {
  const pass = stopClock(t);
  const { service, keys } = await startServiceWithKeys(t, { shop: {} });
  const first = await pay(service, bearing(keys.shop));
  assert.equal(first.headers.get('ratelimit-policy'), '"charges";q=60;w=60');
  assert.equal(first.headers.get('ratelimit'), '"charges";r=59;t=1');
  const { accepted, response } = await payAll(service, bearing(keys.shop));
  assert.equal(accepted, 59);
  assertError(response, { status: 429, code: 'rate_limited' });
  assert.equal(
    response.json.body.message.message,
    response.json.body.error.message,
    'the documented field has the message too',
  );
  assert.equal(response.headers.get('retry-after'), '1');
  assert.equal(response.headers.get('ratelimit'), '"charges";r=0;t=60');
  assert.equal(response.headers.get('payment-id'), null);
  assert.equal(await payments(service, keys.shop), 60);
  assert.equal((await service.get(readPath, bearing(keys.shop))).status, 404, 'tables are not payments');
  pass(1_000);
  assert.equal((await payAll(service, bearing(keys.shop))).accepted, 1, 'one charge per second is regained');
});

test('two keys share the limit of their address, and one key has a limit per address', async (t) => {
  stopClock(t);
  const env = { COUNTERFOIL_LIMIT_CHARGES: '3', COUNTERFOIL_TRUSTED_PROXIES: '127.0.0.0/8, ::1' };
  const { service, keys } = await startServiceWithKeys(t, { a: {}, b: {}, c: {} }, { env });
  const from = (key: string, address: string) => ({ ...bearing(key), 'x-forwarded-for': address });
  assert.equal((await payAll(service, from(keys.a, '192.0.2.1'))).accepted, 3);
  assert.equal((await payAll(service, from(keys.b, '192.0.2.1'))).accepted, 0, 'the address is counted');
  assert.equal((await payAll(service, from(keys.a, '192.0.2.2'))).accepted, 0, 'the key is counted');
  assert.equal((await payAll(service, from(keys.b, '2001:db8::1'))).accepted, 3);
  assert.equal(
    (await payAll(service, from(keys.c, '2001:db8::ffff'))).accepted,
    0,
    'a network is one address',
  );
  assert.equal(
    (await payAll(service, from(keys.c, '203.0.113.9, 192.0.2.3'))).accepted,
    3,
    'the last address that a trusted proxy added',
  );
});

test('a forwarding header gives no new limit where no proxy is trusted', async (t) => {
  stopClock(t);
  for (const env of [{}, { COUNTERFOIL_TRUSTED_PROXIES: '192.0.2.0/24' }]) {
    const { service, keys } = await startServiceWithKeys(
      t,
      { a: {}, b: {} },
      {
        env: { COUNTERFOIL_LIMIT_CHARGES: '2', ...env },
      },
    );
    assert.equal((await payAll(service, { ...bearing(keys.a), 'x-forwarded-for': '192.0.2.1' })).accepted, 2);
    assert.equal((await payAll(service, { ...bearing(keys.b), 'x-forwarded-for': '192.0.2.2' })).accepted, 0);
  }
});

test('declined cards limit a secret key for no longer than a minute', async (t) => {
  const pass = stopClock(t);
  const env = { COUNTERFOIL_LIMIT_CHARGES: '100000' };
  const { service, keys } = await startServiceWithKeys(t, { shop: {}, other: {} }, { env });
  const repeated = { ...bearing(keys.shop), 'idempotency-key': 'same' };
  for (let count = 0; count < 5; count++)
    assert.equal((await pay(service, repeated, 'tok_lost_card')).status, 402);
  const { accepted, response } = await payAll(service, bearing(keys.shop), 'tok_lost_card');
  assert.equal(accepted, 59, 'a replayed response is counted once');
  assertError(response, { status: 429, code: 'rate_limited' });
  assert.equal(response.headers.get('retry-after'), '1');
  assert.equal(
    (await pay(service, bearing(keys.other))).status,
    200,
    'the address is the shop’s, not a buyer’s',
  );
  pass(1_000);
  assert.equal((await pay(service, bearing(keys.shop))).status, 200);
});

test('one browser cannot use up the charges of a publishable key', async (t) => {
  stopClock(t);
  const env = { COUNTERFOIL_TRUSTED_PROXIES: '127.0.0.1' };
  const { service, keys } = await startServiceWithKeys(t, { shop: browser }, { env });
  const from = (address: string) => ({ ...bearing(keys.shop), origin, 'x-forwarded-for': address });
  for (let buyer = 1; buyer <= 6; buyer++) {
    assert.equal((await payAll(service, from(`192.0.2.${buyer}`))).accepted, 10);
  }
  assert.equal((await payAll(service, from('192.0.2.7'))).accepted, 0, 'the key as a whole is counted');
});

test('requests that are not charges do not use up the limit of a publishable key, from however many addresses', async (t) => {
  stopClock(t);
  const env = { COUNTERFOIL_TRUSTED_PROXIES: '127.0.0.1' };
  const { service, keys } = await startServiceWithKeys(t, { shop: browser }, { env });
  const from = (address: string) => ({ ...bearing(keys.shop), origin, 'x-forwarded-for': address });
  for (let stranger = 1; stranger <= 6; stranger++) {
    for (let count = 0; count < 10; count++) {
      const response = await service.post(payment.path, {}, from(`192.0.2.${stranger}`));
      assert.equal(response.status, 400);
    }
  }
  assert.equal((await payAll(service, from('198.51.100.1'))).accepted, 10);
});

test('tokens that the processor does not know count as declined cards', async (t) => {
  const env = { COUNTERFOIL_TRUSTED_PROXIES: '127.0.0.1' };
  const { service, keys } = await startServiceWithKeys(t, { shop: browser }, { env });
  const from = (address: string) => ({ ...bearing(keys.shop), origin, 'x-forwarded-for': address });
  for (let count = 0; count < 5; count++) {
    assert.equal((await pay(service, from('192.0.2.1'), 'tok_unknown')).status, 400);
  }
  assert.equal((await pay(service, from('192.0.2.1'))).status, 429);
  assert.equal((await pay(service, from('192.0.2.2'))).status, 200);
});

test('an open service has the limits that its settings name, and no others', async (t) => {
  stopClock(t);
  const open = await startTestService(t);
  for (let count = 0; count < 70; count++) {
    const response = await pay(open, {}, 'tok_lost_card');
    assert.equal(response.status, 402);
    assert.equal(response.headers.get('ratelimit'), null);
  }
  const named = await startTestService(t, {
    env: { COUNTERFOIL_LIMIT_CHARGES: '2', COUNTERFOIL_LIMIT_REQUESTS: '9' },
  });
  assert.equal((await payAll(named, {})).accepted, 2);
  const reads = await Promise.all(Array.from({ length: 10 }, () => named.get(readPath)));
  assert.deepEqual(
    reads.map(({ status }) => status).sort(),
    [404, 404, 404, 404, 404, 404, 429, 429, 429, 429],
  );
});

test('requests are counted by address before the key is checked, and by key afterwards; 0 is no limit', async (t) => {
  stopClock(t);
  const env = { COUNTERFOIL_LIMIT_REQUESTS: '5' };
  const { service, keys } = await startServiceWithKeys(t, { a: {} }, { env });
  const headers = bearing(keys.a);
  for (let count = 0; count < 3; count++) assert.equal((await service.get(readPath)).status, 401);
  assert.equal((await service.get('/nothing')).status, 404);
  assert.equal((await service.get(readPath, headers)).status, 404);
  const rejected = await service.get(readPath, headers);
  assertError(rejected, { status: 429, code: 'rate_limited' });
  assert.equal(rejected.headers.get('ratelimit-policy'), '"requests";q=5;w=1');
  const none = {
    COUNTERFOIL_LIMIT_CHARGES: '0',
    COUNTERFOIL_LIMIT_DECLINES: '0',
    COUNTERFOIL_LIMIT_REQUESTS: '0',
  };
  const free = await startServiceWithKeys(t, { a: {} }, { env: none });
  for (let count = 0; count < 70; count++) {
    assert.equal((await pay(free.service, bearing(free.keys.a), 'tok_lost_card')).status, 402);
  }
});

test('a bucket never exceeds its quota and what it has regained, and reports exactly when a request is allowed again', (t) => {
  const random = randomFrom(seedOf(t));
  for (let round = 0; round < count({ short: 50, long: 200 }); round++) {
    const quota = between(random, 1, 9);
    const windowMs = 10 * between(random, 1, 100);
    const limit = new RateLimit({ quota, windowMs });
    let now = 0;
    const accepted: number[] = [];
    for (let step = 0; step < 100; step++) {
      now += between(random, 0, 1) * between(random, 0, windowMs);
      const waitMs = limit.take('caller', now);
      if (waitMs === 0) accepted.push(now);
      else
        assert.ok(limit.waitMs('caller', now + waitMs) === 0 && limit.waitMs('caller', now + waitMs - 1) > 0);
      assert.equal(limit.left('caller', now) > 0, limit.waitMs('caller', now) === 0);
    }
    for (const since of accepted) {
      for (const until of accepted.filter((at) => at >= since)) {
        const count = accepted.filter((at) => at >= since && at <= until).length;
        assert.ok(count <= quota + ((until - since) * quota) / windowMs + 1e-6, `${count} of ${quota}`);
      }
    }
  }
});

test('a limit forgets the least recently active of too many callers, and never an active one', () => {
  const limit = new RateLimit({ quota: 1, windowMs: 1_000_000 });
  assert.equal(limit.take('busy', 0), 0);
  for (let caller = 0; caller < 2 * limitedCallersMax; caller++) {
    limit.take(`other-${caller}`, 1);
    if (caller % 1_000 === 0) {
      assert.ok(limit.waitMs('busy', 1) > 0);
      limit.spend('busy', 1);
    }
  }
  assert.ok(limit.waitMs('busy', 1) > 0);
  assert.equal(limit.waitMs('other-0', 1), 0);
});

test('an address is counted by the network of one customer', () => {
  for (const [address, counted] of [
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::6', '2001:db8:1:2::/64'],
    ['2001:db8::6', '2001:db8:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
  ]) {
    assert.equal(countedAddress(address as string), counted);
  }
});
