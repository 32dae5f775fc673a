import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { amountMax, quantityMax } from '../../src/payments/limits.ts';
import { MemoryLedger } from '../../src/processors/simulated/memory-ledger.ts';
import { count } from '../support/extent.ts';
import { assertError } from '../support/http/error-response.ts';
import { startLedger } from '../support/ledger/ledger-process.ts';
import { writeSettings } from '../support/payments/settings-file.ts';
import { newDataFolder, startTestService, type TestService } from '../support/service.ts';

const routes = {
  fixed: { price: { fixed: 1_050, currency: 'EUR' } },
  poster: {
    price: { table: 'prices', id: 'metadata.sku', currency: 'eur', quantity: 'metadata.quantity' },
  },
  single: { price: { table: 'prices', id: 'metadata.sku', currency: 'JPY' } },
  donation: { price: 'payer', minimum: 100, maximum: 5_000 },
  major: { unit: 'major', price: { table: 'prices', id: 'metadata.sku', currency: 'EUR' } },
  free: {},
};

async function start(t: TestContext, given: object = routes, data = newDataFolder(t)) {
  const ledger = new MemoryLedger();
  const { origin } = await startLedger(t, ledger);
  const file = writeSettings(t, { payments: { routes: given } });
  const service = await startTestService(t, { data, file, env: { COUNTERFOIL_SIMULATED_LEDGER: origin } });
  return { service, ledger };
}

function pay(service: TestService, route: string, fields: object, headers: Record<string, string> = {}) {
  const body = { amount: 1_050, currency: 'EUR', token: 'tok_paid', ...fields };
  return service.post(`/stage/payment/simulated/${route}`, body, headers);
}

async function setPrice(service: TestService, id: string, name: string): Promise<void> {
  const created = await service.post('/v3/table/prices/create', { id, name });
  const { status } =
    created.status === 409 ? await service.send('PUT', '/v3/table/prices/update', { id, name }) : created;
  assert.equal(status, 200);
}

async function assertNothing(service: TestService, ledger: MemoryLedger): Promise<void> {
  assert.deepEqual(ledger.charges, [], 'nothing was charged');
  for (const route of Object.keys(routes)) {
    const { json } = await service.get(`/stage/payment/simulated/${route}`);
    assert.deepEqual(json.body, [], `nothing was reserved on ${route}`);
  }
}

test('charges a fixed price, responds exactly as documented, and charges no other amount or currency', async (t) => {
  const { service, ledger } = await start(t);
  for (const [fields, param] of [
    [{ amount: 100 }, 'amount'],
    [{ amount: 1_049 }, 'amount'],
    [{ amount: 1_051 }, 'amount'],
    [{ amount: amountMax }, 'amount'],
    [{ currency: 'JPY' }, 'currency'],
  ] as const) {
    const rejected = await pay(service, 'fixed', fields);
    assertError(rejected, { status: 400, code: 'amount_mismatch', param });
    const { error } = rejected.json.body;
    assert.deepEqual(error.expected, { amount: 1_050, currency: 'EUR' });
    assert.match(error.message, /10\.50 EUR \(1050 in the smallest unit\); nothing was charged/);
    assert.equal(rejected.headers.get('payment-id'), null);
  }
  await assertNothing(service, ledger);
  const paid = await pay(service, 'fixed', { currency: 'eur' });
  const message = { message: 'Payment successful!', charge_id: ledger.charges[0]?.chargeId };
  assert.deepEqual(paid.json, { statusCode: 200, body: { message } });
  const stored = await service.get(paid.headers.get('location') ?? '');
  assert.deepEqual(stored.json.body.price, { type: 'fixed' });
});

test('charges the price of the table times the quantity, and stores what it was computed from', async (t) => {
  const { service, ledger } = await start(t);
  await setPrice(service, 'poster', '1050');
  const metadata = { sku: 'poster', quantity: '3' };
  for (const amount of [1_050, 3_149, 3_151, 9_450])
    assertError(await pay(service, 'poster', { amount, metadata }), { status: 400, code: 'amount_mismatch' });
  await assertNothing(service, ledger);
  const paid = await pay(service, 'poster', { amount: 3_150, metadata });
  assert.equal(paid.status, 200, paid.text);
  assert.deepEqual((await service.get(paid.headers.get('location') ?? '')).json.body.price, {
    type: 'table',
    table: 'prices',
    id: 'poster',
    unit_amount: 1_050,
    quantity: 3,
  });
  const single = await pay(service, 'single', {
    currency: 'JPY',
    metadata: { sku: 'poster', quantity: '9' },
  });
  assert.equal(single.status, 200, 'without a quantity in the settings, metadata.quantity means nothing');
  assert.deepEqual(
    ledger.charges.map(({ amount }) => amount),
    [3_150, 1_050],
  );
});

test('rejects metadata that names no price or quantity, and says which', async (t) => {
  const { service, ledger } = await start(t);
  await setPrice(service, 'poster', '1050');
  await setPrice(service, 'dear', String(amountMax));
  for (const [metadata, param] of [
    [undefined, 'metadata.sku'],
    [{ quantity: '1' }, 'metadata.sku'],
    [{ sku: 'nothing', quantity: '1' }, 'metadata.sku'],
    [{ sku: '', quantity: '1' }, 'metadata.sku'],
    [{ sku: '\u20ac'.repeat(400), quantity: '1' }, 'metadata.sku'],
    [{ sku: '__proto__', quantity: '1' }, 'metadata.sku'],
    [{ sku: 'poster' }, 'metadata.quantity'],
    ...['0', '-1', '+1', '01', '1.0', '1.5', '1e1', '0x1', ' 1', '1 ', '', '\u0661', 'NaN', '1,0'].map(
      (quantity) => [{ sku: 'poster', quantity }, 'metadata.quantity'] as const,
    ),
    [{ sku: 'poster', quantity: String(quantityMax + 1) }, 'metadata.quantity'],
    [{ sku: 'poster', quantity: '9'.repeat(400) }, 'metadata.quantity'],
    [{ sku: 'dear', quantity: '2' }, 'metadata.quantity'],
  ] as const) {
    const rejected = await pay(service, 'poster', { metadata });
    assertError(rejected, { status: 400, code: 'invalid_request', param });
  }
  await assertNothing(service, ledger);
});

test('charges nothing while the price of an item is not a whole number, and logs that once', async (t) => {
  const { service, ledger } = await start(t);
  const invalid = ['', '0', '-1050', '1050.0', '10.50', '1e3', ' 1050', '01050', '100000000', 'free', '٥'];
  for (const name of invalid) {
    await setPrice(service, 'poster', name);
    for (const amount of [1, 1_050]) {
      const rejected = await pay(service, 'single', { amount, currency: 'JPY', metadata: { sku: 'poster' } });
      assertError(rejected, { status: 503, code: 'unavailable' });
      assert.equal(rejected.json.body.error.retryable, false);
    }
  }
  await assertNothing(service, ledger);
  const lines = service.logged().match(/.*"event":"invalid_price".*/g) ?? [];
  assert.equal(lines.length, 1);
  assert.match(lines[0] ?? '', /item \\"poster\\" in table prices is not a whole number/);
});

test('the payer chooses an amount within the limits, where the settings say so', async (t) => {
  const { service, ledger } = await start(t);
  for (const amount of [99, 5_001])
    assertError(await pay(service, 'donation', { amount }), {
      status: 400,
      code: 'invalid_request',
      param: 'amount',
    });
  for (const amount of [100, 777, 5_000]) {
    const paid = await pay(service, 'donation', { amount });
    assert.equal(paid.status, 200, paid.text);
    const stored = await service.get(paid.headers.get('location') ?? '');
    assert.deepEqual(stored.json.body.price, { type: 'payer' });
  }
  assert.equal(ledger.charges.length, 3);
});

test('compares prices in the smallest unit on a route that takes amounts in the currency itself', async (t) => {
  const { service, ledger } = await start(t);
  await setPrice(service, 'poster', '1050');
  const metadata = { sku: 'poster' };
  const rejected = await pay(service, 'major', { amount: 1_050, metadata });
  assertError(rejected, { status: 400, code: 'amount_mismatch', param: 'amount' });
  assert.equal((await pay(service, 'major', { amount: 10.5, metadata })).status, 200);
  assert.equal(ledger.charges[0]?.amount, 1_050);
});

test('a repeated request gets its first response after the price has changed, been deleted or left the settings', async (t) => {
  const data = newDataFolder(t);
  const { service, ledger } = await start(t, routes, data);
  await setPrice(service, 'poster', '1050');
  const metadata = { sku: 'poster' };
  const key = { 'idempotency-key': 'order-1' };
  const payAt = (on: TestService, amount: number) =>
    pay(on, 'single', { amount, currency: 'JPY', metadata }, key);
  const first = await payAt(service, 1_050);
  assert.equal(first.status, 200);
  const assertReplayed = async (on: TestService) => {
    const again = await payAt(on, 1_050);
    assert.deepEqual([again.status, again.text], [200, first.text]);
    assert.equal(again.headers.get('idempotent-replayed'), 'true');
  };
  await setPrice(service, 'poster', '2000');
  await assertReplayed(service);
  assertError(await payAt(service, 2_000), { status: 422, code: 'idempotency_key_reused', param: 'amount' });
  await service.send('DELETE', '/v3/table/prices/delete', { id: 'poster' });
  await assertReplayed(service);
  await service.stop();
  const { service: next, ledger: other } = await start(t, { single: routes.fixed }, data);
  await assertReplayed(next);
  assert.deepEqual([ledger.charges.length, other.charges.length], [1, 0]);
});

test('returns the price that a page shows', async (t) => {
  const { service } = await start(t);
  await setPrice(service, 'poster', '1050');
  const read = (query: string, method = 'GET') => service.send(method, `/stage/payment/simulated/${query}`);
  for (const [query, body] of [
    ['fixed/price', { amount: 1_050, currency: 'EUR' }],
    ['single/price?sku=poster', { amount: 1_050, currency: 'JPY' }],
    ['major/price?sku=poster', { amount: 1_050, currency: 'EUR' }],
    [
      'poster/price?sku=poster&quantity=2',
      { amount: 2_100, currency: 'EUR', unit_amount: 1_050, quantity: 2 },
    ],
  ] as const) {
    const response = await read(query);
    assert.deepEqual([response.status, response.json.body], [200, body], query);
    assert.equal(response.headers.get('cache-control'), 'no-store');
  }
  for (const [query, code, param] of [
    ['fixed/price?sku=poster', 'invalid_request', 'sku'],
    ['poster/price?sku=poster', 'invalid_request', 'metadata.quantity'],
    ['poster/price?sku=nothing&quantity=1', 'invalid_request', 'metadata.sku'],
    ['poster/price?sku=poster&sku=poster&quantity=1', 'invalid_request', 'sku'],
    ['poster/price?sku=poster&quantity=1&color=red', 'invalid_request', 'color'],
    ['poster/price?sku=4242+4242+4242+4242&quantity=1', 'invalid_request', 'metadata'],
    ['donation/price', 'route_not_found', undefined],
    ['free/price', 'route_not_found', undefined],
    ['nothing/price', 'route_not_found', undefined],
  ] as const) {
    const response = await read(query);
    assert.deepEqual([response.json.body.error.code, response.json.body.error.param], [code, param], query);
  }
  const posted = await read('fixed/price', 'POST');
  assert.deepEqual([posted.status, posted.headers.get('allow')], [405, 'GET, HEAD']);
});

test('never charges an amount that is not the price, whatever the request says', async (t) => {
  const { service, ledger } = await start(t);
  const prices: Readonly<Record<string, number>> = {
    one: 1,
    poster: 1_050,
    dear: amountMax,
    half: 49_999_999,
  };
  for (const [id, price] of Object.entries(prices)) await setPrice(service, id, String(price));
  await setPrice(service, 'broken', '10.50');
  const sku = fc.constantFrom(...Object.keys(prices), 'broken', 'nothing', 'constructor');
  const quantity = fc.oneof(
    { weight: 3, arbitrary: fc.integer({ min: 1, max: 9 }).map(String) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 12_000 }).map(String) },
    fc.constantFrom('0', '-1', '1.5', '02', '1e2', ' 1', ''),
  );
  const factor = fc.constantFrom(1, 1, 1, 0, 2, 0.5, 1 / 3, -1);
  const other = fc.record({
    factor,
    off: fc.constantFrom(0, 0, 0, -1, 1),
    currency: fc.constantFrom('EUR', 'EUR', 'eur', 'JPY', 'KWD'),
  });
  // Half of the requests have the amount and the currency of the price, so that enough of them are charged.
  const amounts = fc.oneof(fc.constant({ factor: 1, off: 0, currency: 'EUR' }), other);
  let sent = 0;
  await fc.assert(
    fc.asyncProperty(sku, quantity, amounts, async (sku, quantity, { factor, off, currency }) => {
      const before = ledger.charges.length;
      const price = (prices[sku] ?? 1_050) * Number(quantity);
      const amount = Math.trunc(price * factor) + off;
      const response = await pay(service, 'poster', { amount, currency, metadata: { sku, quantity } });
      const isPrice =
        Object.hasOwn(prices, sku) &&
        /^[1-9]\d*$/.test(quantity) &&
        Number(quantity) <= quantityMax &&
        amount === price &&
        price <= amountMax &&
        currency.toUpperCase() === 'EUR';
      assert.equal(response.status === 200, isPrice, `${amount} ${currency} ${quantity} × ${sku}`);
      assert.equal(ledger.charges.length, before + (isPrice ? 1 : 0));
      sent += isPrice ? 1 : 0;
    }),
    { numRuns: count({ short: 250, long: 20_000 }) },
  );
  t.diagnostic(`${sent} were charged`);
  assert.ok(sent > 5, `${sent} were charged`);
});

test('charges no price that had been replaced before the request was sent', async (t) => {
  const { service, ledger } = await start(t);
  const values = [1_000, 3_000];
  await setPrice(service, 'poster', String(values[0]));
  /** The latest price that is on disk, and how often a change of it has begun. */
  let [current, changes, responses, isOver] = [values[0] as number, 0, 0, false];
  const changing = (async () => {
    while (!isOver) {
      const next = values.find((value) => value !== current) as number;
      changes++;
      await setPrice(service, 'poster', String(next));
      current = next;
      changes++;
      // Twice as many as there are buyers: some of these requests meet one price only.
      for (const until = responses + 8; responses < until && !isOver; ) await sleep(1);
    }
  })();
  let judged = 0;
  const buy = async (amount: number) => {
    for (let n = 0; n < count({ short: 40, long: 2_000 }); n++) {
      const [price, before] = [current, changes];
      const metadata = { sku: 'poster' };
      const { status } = await pay(service, 'single', { amount, currency: 'JPY', metadata });
      responses++;
      // Odd: a change is under way. If none has begun or ended since, the price was this one all the time.
      if (before % 2 === 0 && changes === before) {
        assert.equal(status === 200, amount === price);
        judged++;
      }
      assert.ok(status === 200 || status === 400, String(status));
    }
  };
  await Promise.all([...values, ...values].map(buy));
  isOver = true;
  await changing;
  assert.ok(ledger.charges.every(({ amount }) => values.includes(amount)));
  assert.ok(judged > 10, `${judged} requests met one price`);
});
