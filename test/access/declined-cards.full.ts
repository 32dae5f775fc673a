import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { bearing, newKey, startServiceWithKeys } from '../support/access/keys.ts';
import { payment } from '../support/http/documented-operations.ts';
import { assertError } from '../support/http/error-response.ts';
import { exchange, requestText } from '../support/http/raw-http.ts';
import { payerPrice } from '../support/payments/payer-price.ts';
import { newData, ServeProcess } from '../support/serve-process.ts';
import type { TestResponse } from '../support/service.ts';

const origin = 'https://shop.example';
const browser = { kind: 'publishable', scopes: ['payments:create'], origins: [origin] } as const;
const minute = 60_000;
const hour = 60 * minute;
const hourMax = 5;
const dayMax = 20;
const proxy = { COUNTERFOIL_TRUSTED_PROXIES: '127.0.0.1' };

test('accepts five declined cards of an address, then none for a while, with Retry-After', async (t) => {
  const { pay, pass } = await start(t);
  for (let n = 0; n < hourMax; n++) assert.equal((await pay('192.0.2.1', 'tok_lost_card')).status, 402);
  const rejected = await pay('192.0.2.1', 'tok_lost_card');
  assertError(rejected, { status: 429, code: 'rate_limited' });
  assert.equal(rejected.headers.get('payment-id'), null, 'nothing was reserved');
  assert.equal((await pay('192.0.2.1')).status, 429, 'a valid card is rejected too');
  const waitMs = Number(rejected.headers.get('retry-after')) * 1_000;
  assert.ok(waitMs > 0 && waitMs <= hour, `${waitMs} ms`);
  pass(waitMs);
  assert.equal((await pay('192.0.2.1')).status, 200, 'Retry-After is correct');
});

test('accepts payments of every other address with the same key while one address tests cards', async (t) => {
  const { pay } = await start(t);
  for (let n = 0; n < 60; n++) {
    const { status } = await pay('192.0.2.1', 'tok_lost_card');
    assert.equal(status, n < hourMax ? 402 : 429);
    if (n % 2 === 0) assert.equal((await pay(`198.51.100.${n}`)).status, 200, `buyer ${n}`);
  }
});

test('accepts payments with a key of which many cards were declined', async (t) => {
  const { pay } = await start(t);
  for (let n = 0; n < 40; n++) assert.equal((await pay(`192.0.2.${n}`, 'tok_lost_card')).status, 402);
  for (let n = 0; n < 10; n++) assert.equal((await pay(`198.51.100.${n}`)).status, 200);
});

test('accepts at most ten declined cards an hour of one address, and few in a day', async (t) => {
  const { pay, pass } = await start(t);
  const tried: number[] = [];
  const stepMs = 10 * minute;
  for (let at = 0; at < 24 * hour; at += stepMs) {
    for (let n = 0; n < 2; n++) if ((await pay('192.0.2.1', 'tok_lost_card')).status === 402) tried.push(at);
    pass(stepMs);
  }
  for (const since of tried) {
    const within = tried.filter((at) => at >= since && at < since + hour).length;
    assert.ok(within <= 2 * hourMax, `${within} within an hour`);
  }
  // A token bucket admits its quota once more in the time that it takes to fill.
  assert.ok(tried.length >= dayMax && tried.length <= 2 * dayMax, `${tried.length} in a day`);
  pass(24 * hour);
  assert.equal((await pay('192.0.2.1')).status, 200, 'a day later it may pay again');
});

test('counts an IPv6 network as one address, and a larger network as a few', async (t) => {
  const { pay } = await start(t);
  for (let n = 0; n < hourMax; n++)
    assert.equal((await pay(`2001:db8:1:1::${n}`, 'tok_lost_card')).status, 402);
  assert.equal((await pay('2001:db8:1:1:ffff::1')).status, 429);
  assert.equal((await pay('2001:db8:1:2::1')).status, 200, 'the next network may pay');
  let tried = hourMax;
  for (let network = 3; network < 103; network++) {
    if ((await pay(`2001:db8:1:${network.toString(16)}::1`, 'tok_lost_card')).status === 402) tried++;
  }
  assert.ok(tried > 2 * hourMax && tried <= 60, `${tried} of one /48`);
  assert.equal((await pay('2001:db8:2::1')).status, 200, 'another /48 may pay');
});

test('counts an address once, whatever port a proxy names', async (t) => {
  const { pay } = await start(t);
  for (let n = 0; n < hourMax; n++)
    assert.equal((await pay(`192.0.2.1:${4711 + n}`, 'tok_lost_card')).status, 402);
  assert.equal((await pay('192.0.2.1:80')).status, 429);
});

test('counts the declined cards of an address over all its keys', async (t) => {
  const { pay } = await start(t);
  for (let n = 0; n < hourMax; n++) {
    assert.equal((await pay('192.0.2.1', 'tok_lost_card', n % 2 === 0 ? 'shop' : 'other')).status, 402);
  }
  for (const key of ['shop', 'other'] as const)
    assert.equal((await pay('192.0.2.1', 'tok_paid', key)).status, 429);
});

test('counts the declined cards of all workers of a machine together', async (t) => {
  const data = newData(t);
  const key = await newKey(data, browser);
  const service = await ServeProcess.start(t, {
    data,
    env: proxy,
    settings: payerPrice,
    workers: 2,
    simulate: true,
  });
  const at = await service.ready();
  // Each request has its own connection, so that every worker receives some.
  const pay = async (address: string, token: string) => {
    const headers = {
      ...bearing(key),
      origin,
      'x-forwarded-for': address,
      'Content-Type': 'application/json',
    };
    const body = JSON.stringify({ ...payment.body, token });
    return (await exchange(at, requestText(at, `POST ${payment.path}`, headers, body))).status;
  };
  let tried = 0;
  for (let n = 0; n < 30; n++) if ((await pay('192.0.2.1', 'tok_lost_card')) === 402) tried++;
  // A worker does not count the requests that it has not heard of yet.
  assert.ok(tried >= hourMax && tried <= hourMax + 2, `${tried} were tried`);
  for (let n = 0; n < 8; n++) assert.equal(await pay(`198.51.100.${n}`, 'tok_paid'), 200);
});

/** A service with publishable keys behind a proxy, on a clock that only the test moves. */
async function start(t: TestContext) {
  let at = performance.now() + 0.1;
  const startedAt = Date.now() - at;
  t.mock.method(performance, 'now', () => at);
  const env = { ...proxy, COUNTERFOIL_LIMIT_CHARGES: '100000' };
  const options = { env, now: () => startedAt + at };
  const { service, keys } = await startServiceWithKeys(t, { shop: browser, other: browser }, options);
  const pay = (address: string, token = 'tok_paid', key: 'shop' | 'other' = 'shop'): Promise<TestResponse> =>
    service.post(
      payment.path,
      { ...payment.body, token },
      { ...bearing(keys[key]), origin, 'x-forwarded-for': address },
    );
  return {
    pay,
    pass: (ms: number) => {
      at += ms;
    },
  };
}
