import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { MemoryLedger } from '../../src/processors/simulated/memory-ledger.ts';
import { givenUpMs } from '../support/busy-machine.ts';
import { startLedger } from '../support/ledger/ledger-process.ts';
import { startTestService, type TestResponse, type TestService } from '../support/service.ts';

const path = '/stage/payment/simulated/charge';

interface Started {
  readonly service: TestService;
  readonly ledger: MemoryLedger;
  /** The location of a new payment of 20.00 EUR. */
  pay(token?: string): Promise<string>;
}

async function start(t: TestContext): Promise<Started> {
  const ledger = new MemoryLedger();
  const { origin } = await startLedger(t, ledger);
  const service = await startTestService(t, { env: { COUNTERFOIL_SIMULATED_LEDGER: origin } });
  const pay = async (token = 'tok_paid') => {
    const response = await service.post(path, { amount: 2_000, currency: 'EUR', token });
    return response.headers.get('location') ?? '';
  };
  return { service, ledger, pay };
}

function assertRejected(response: TestResponse, status: number, code: string, param?: string): void {
  assert.deepEqual(
    [response.status, response.json.body.error.code, response.json.body.error.param],
    [status, code, param],
  );
}

test('refunds a whole payment without a body, and shows the refund in the payment', async (t) => {
  const { service, ledger, pay } = await start(t);
  const at = await pay();
  const response = await service.send('POST', `${at}/refund`);
  assert.equal(response.status, 200, response.text);
  const { refund_id: id, created_at: createdAt, processor_refund_id: theirs, ...refund } = response.json.body;
  assert.match(id, /^ref_[0-9a-f]{32}$/);
  assert.ok(Math.abs(Date.parse(createdAt) - Date.now()) < 60_000);
  assert.deepEqual(refund, {
    payment_id: at.split('/').at(-1),
    status: 'succeeded',
    amount: 2_000,
    currency: 'EUR',
  });
  assert.deepEqual(
    ledger.refunds.map(({ ledgerRefundId, refundId, amount }) => [ledgerRefundId, refundId, amount]),
    [[theirs, id, 2_000]],
  );
  assert.equal(response.headers.get('refund-id'), id);
  assert.equal(response.headers.get('location'), at);
  const payment = (await service.get(at)).json.body;
  assert.deepEqual([payment.status, payment.amount_refunded], ['succeeded', 2_000]);
  assert.deepEqual(payment.refunds, [response.json.body]);
});

test('refunds in parts, never more than was charged', async (t) => {
  const { service, ledger, pay } = await start(t);
  const at = await pay();
  assert.equal((await service.post(`${at}/refund`, { amount: 500 })).status, 200);
  assertRejected(await service.post(`${at}/refund`, { amount: 1_501 }), 400, 'invalid_request', 'amount');
  const rest = await service.post(`${at}/refund`, {});
  assert.equal(rest.json.body.amount, 1_500);
  assertRejected(await service.post(`${at}/refund`, {}), 400, 'invalid_request', 'amount');
  assertRejected(await service.post(`${at}/refund`, { amount: 1 }), 400, 'invalid_request', 'amount');
  assert.deepEqual(
    ledger.refunds.map(({ amount }) => amount),
    [500, 1_500],
  );
});

test('concurrent refunds never exceed the charged amount', async (t) => {
  const { service, ledger, pay } = await start(t);
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 1, max: 2_500 }), { minLength: 2, maxLength: 12 }),
      async (amounts) => {
        const at = await pay();
        const before = ledger.refunds.length;
        const responses = await Promise.all(
          amounts.map((amount) => service.post(`${at}/refund`, { amount })),
        );
        const given = ledger.refunds.slice(before).map(({ amount }) => amount);
        const sum = given.reduce((total, amount) => total + amount, 0);
        assert.ok(sum <= 2_000, `${sum} was refunded`);
        const refunded = responses.filter(({ status }) => status === 200).map(({ json }) => json.body.amount);
        assert.deepEqual(refunded.sort(), given.sort());
        assert.equal((await service.get(at)).json.body.amount_refunded, sum);
      },
    ),
    { numRuns: 15 },
  );
});

test('concurrent refunds with one key refund once, with identical responses', async (t) => {
  const { service, ledger, pay } = await start(t);
  const at = await pay();
  const key = { 'idempotency-key': 'refund-of-order-7' };
  const responses = await Promise.all(
    Array.from({ length: 20 }, () => service.post(`${at}/refund`, { amount: 500 }, key)),
  );
  assert.deepEqual([...new Set(responses.map(({ status, text }) => `${status} ${text}`))].length, 1);
  assert.equal(responses.filter(({ headers }) => headers.get('idempotent-replayed') === null).length, 1);
  assert.equal(ledger.refunds.length, 1);
  assertRejected(
    await service.post(`${at}/refund`, { amount: 501 }, key),
    422,
    'idempotency_key_reused',
    'amount',
  );
  assertRejected(await service.post(`${at}/refund`, {}, key), 422, 'idempotency_key_reused', 'amount');
  const other = await pay();
  assert.equal(
    (await service.post(`${other}/refund`, { amount: 700 }, key)).status,
    200,
    'a key belongs to its payment',
  );
});

test('refunds nothing of a payment that was declined or does not exist', async (t) => {
  const { service, ledger, pay } = await start(t);
  assertRejected(await service.post(`${await pay('tok_lost_card')}/refund`, {}), 400, 'invalid_request');
  const unknown = `${path}/pay_${'0'.repeat(32)}`;
  assertRejected(await service.post(`${unknown}/refund`, {}), 404, 'payment_not_found');
  assert.deepEqual(ledger.refunds, []);
});

for (const [what, amount] of [
  ['nothing', 0],
  ['less than nothing', -1],
  ['a fraction', 10.5],
  ['a string', '500'],
  ['null', null],
  ['2⁵³', 2 ** 53],
] as const) {
  test(`rejects a refund of ${what} without calling the processor`, async (t) => {
    const { service, ledger, pay } = await start(t);
    assertRejected(await service.post(`${await pay()}/refund`, { amount }), 400, 'invalid_request', 'amount');
    assert.deepEqual(ledger.refunds, []);
  });
}

test('rejects an unknown field of a refund, and a key that looks like a card number', async (t) => {
  const { service, ledger, pay } = await start(t);
  const at = await pay();
  assertRejected(await service.post(`${at}/refund`, { sum: 5 }), 400, 'invalid_request', 'sum');
  const card = { 'idempotency-key': '4242-4242-4242-4242' };
  assertRejected(await service.post(`${at}/refund`, {}, card), 400, 'invalid_request', 'Idempotency-Key');
  assert.deepEqual(ledger.refunds, []);
});

test('a refund that the processor rejects leaves the amount refundable', async (t) => {
  const { service, pay } = await start(t);
  const at = await pay('tok_refund_rejected');
  const response = await service.post(`${at}/refund`, { amount: 500 });
  assertRejected(response, 400, 'invalid_request');
  const payment = (await service.get(at)).json.body;
  assert.equal(payment.amount_refunded, 0);
  assert.equal(payment.refunds[0].status, 'failed');
});

test('a pending refund counts as refunded', async (t) => {
  const { service, pay } = await start(t);
  const at = await pay('tok_refund_pending');
  const response = await service.post(`${at}/refund`, { amount: 1_500 });
  assert.deepEqual([response.status, response.json.body.status], [200, 'pending']);
  assertRejected(await service.post(`${at}/refund`, { amount: 501 }), 400, 'invalid_request', 'amount');
});

test('a refund whose reply is lost is in doubt, then found; it is made once', async (t) => {
  const { service, ledger, pay } = await start(t);
  const at = await pay('tok_refund_lost_reply');
  const key = { 'idempotency-key': 'refund-1' };
  const lost = await service.post(`${at}/refund`, { amount: 500 }, key);
  assertRejected(lost, 504, 'payment_outcome_unknown');
  assert.deepEqual(
    [lost.json.body.error.retryable, lost.headers.get('location'), lost.headers.get('retry-after')],
    [true, at, '2'],
  );
  assertRejected(await service.post(`${at}/refund`, { amount: 1_501 }), 400, 'invalid_request', 'amount');
  const giveUpAt = Date.now() + givenUpMs;
  let again = await service.post(`${at}/refund`, { amount: 500 }, key);
  while (again.status === 504 && Date.now() < giveUpAt) {
    await sleep(50);
    again = await service.post(`${at}/refund`, { amount: 500 }, key);
  }
  assert.deepEqual([again.status, again.json.body.status], [200, 'succeeded']);
  assert.equal(ledger.refunds.length, 1);
});

test('without a key, asks for no retry of a refund in doubt', async (t) => {
  const { service, pay } = await start(t);
  const lost = await service.post(`${await pay('tok_refund_lost_reply')}/refund`, { amount: 500 });
  assert.deepEqual([lost.status, lost.json.body.error.retryable], [504, false]);
});
