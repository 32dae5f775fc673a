import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { MemoryLedger } from '../../src/processors/simulated/memory-ledger.ts';
import { startLedger } from '../../test/support/ledger/ledger-process.ts';
import { writeSettings } from '../../test/support/payments/settings-file.ts';
import { startTestService } from '../../test/support/service.ts';
import { startScriptedStripe } from '../../test/support/stripe/scripted-stripe.ts';
import { Counterfoil, CounterfoilError, type PayResult, type ReceivedResponse } from '../src/index.ts';

const payment = { processor: 'simulated', amount: 1_050, currency: 'EUR', token: 'tok_paid' } as const;

async function start(t: TestContext) {
  const ledger = new MemoryLedger();
  const { origin: ledgerOrigin } = await startLedger(t, ledger);
  const service = await startTestService(t, { env: { COUNTERFOIL_SIMULATED_LEDGER: ledgerOrigin } });
  const responses: ReceivedResponse[] = [];
  const onResponse = (response: ReceivedResponse) => responses.push(response);
  return { service, ledger, responses, client: new Counterfoil({ url: service.origin, onResponse }) };
}

test('pays, repeats the same payment, finds, lists and refunds it', async (t) => {
  const { client, ledger } = await start(t);
  const paid = await client.pay({ ...payment, metadata: { cart: '1' } });
  assert.equal(paid.status, 'succeeded');
  assert.equal(paid.chargeId, ledger.charges[0]?.chargeId);
  const { idempotencyKey, paymentId } = paid;
  assert.deepEqual(await client.pay({ ...payment, metadata: { cart: '1' }, idempotencyKey }), paid);
  assert.equal(ledger.charges.length, 1);
  const found = await client.payments.find({ processor: 'simulated', idempotencyKey });
  assert.equal(found?.id, paymentId);
  assert.equal(await client.payments.find({ processor: 'simulated', idempotencyKey: 'none' }), undefined);
  const refunded = await client.refund({ processor: 'simulated', paymentId, amount: 250 });
  assert.ok(refunded.status === 'succeeded');
  assert.equal(refunded.refund.amount, 250);
  const again = { processor: 'simulated', paymentId, amount: 250, idempotencyKey: refunded.idempotencyKey };
  assert.deepEqual(await client.refund(again), refunded);
  assert.equal((await client.refund({ processor: 'simulated', paymentId })).status, 'succeeded');
  await client.pay(payment);
  const first = await client.payments.list({ processor: 'simulated', limit: 1 });
  assert.deepEqual(
    first.payments.map(({ id, amount_refunded }) => [id, amount_refunded]),
    [[paymentId, 1_050]],
  );
  const { next } = first;
  assert.ok(next !== undefined);
  const second = await client.payments.list({ processor: 'simulated', limit: 1, after: next });
  assert.deepEqual([second.payments.length, second.next], [1, undefined]);
  assert.deepEqual(await client.payments.get({ processor: 'simulated', paymentId }), first.payments[0]);
});

test('reads the price of a payment; another amount is an error with the price', async (t) => {
  const ledger = new MemoryLedger();
  const { origin } = await startLedger(t, ledger);
  const price = { table: 'prices', id: 'metadata.sku', currency: 'EUR', quantity: 'metadata.quantity' };
  const file = writeSettings(t, { payments: { routes: { poster: { price } } } });
  const service = await startTestService(t, { file, env: { COUNTERFOIL_SIMULATED_LEDGER: origin } });
  const client = new Counterfoil({ url: service.origin });
  await client.table('prices').create({ id: 'print', name: '1050' });
  const place = { processor: 'simulated', route: 'poster', metadata: { sku: 'print', quantity: '2' } };
  const shown = await client.payments.price(place);
  assert.deepEqual(shown, { amount: 2_100, currency: 'EUR', unit_amount: 1_050, quantity: 2 });
  await assert.rejects(client.pay({ ...payment, ...place }), (error) => {
    assert.ok(error instanceof CounterfoilError && error.code === 'amount_mismatch');
    assert.deepEqual(error.body.expected, { amount: 2_100, currency: 'EUR' });
    return true;
  });
  assert.equal((await client.pay({ ...payment, ...place, amount: shown.amount })).status, 'succeeded');
  assert.equal(ledger.charges.length, 1);
});

test('a declined card is a result, with the decline code', async (t) => {
  const { client, ledger } = await start(t);
  for (const code of ['insufficient_funds', 'authentication_required']) {
    const result = await client.pay({ ...payment, token: `tok_${code}` });
    assert.ok(result.status === 'declined');
    assert.equal(result.declineCode, code);
    assert.match(result.error.requestId ?? '', /^req_/);
    assert.match(result.paymentId, /^pay_/);
  }
  assert.deepEqual(ledger.charges, []);
});

test('follows an unknown outcome to its truth, at the pace that the service asks for', async (t) => {
  const { client, ledger, responses } = await start(t);
  const began = performance.now();
  const result = await client.pay({ ...payment, token: 'tok_lost_reply' });
  assert.ok(result.status === 'succeeded');
  assert.equal(ledger.charges.length, 1);
  const statuses = responses.map(({ status }) => status);
  assert.equal(statuses[0], 504);
  assert.equal(statuses.at(-1), 200);
  assert.ok(performance.now() - began >= 2_000 * (statuses.length - 1), 'it honours Retry-After');
  const { paymentId } = await client.pay({ ...payment, token: 'tok_refund_lost_reply' });
  const refunded = await client.refund({ processor: 'simulated', paymentId: paymentId ?? '' });
  assert.equal(refunded.status, 'succeeded');
  assert.equal(ledger.refunds.length, 1);
});

test('reports a refund that the bank rejects, and one that it has not confirmed', async (t) => {
  const { client } = await start(t);
  for (const [token, status] of [
    ['tok_refund_rejected', undefined],
    ['tok_refund_pending', 'pending'],
  ] as const) {
    const { paymentId } = await client.pay({ ...payment, token });
    const refunding = client.refund({ processor: 'simulated', paymentId: paymentId ?? '' });
    if (status === undefined) await assert.rejects(refunding, { code: 'invalid_request' });
    else assert.equal((await refunding).status, status);
  }
});

test('a deadline or an abort after the request was sent gives an unknown outcome with the key to go on', async (t) => {
  const { client, ledger } = await start(t);
  const slow = { ...payment, token: 'tok_slow' };
  const late = await client.pay({ ...slow, deadlineMs: 300 });
  assert.ok(late.status === 'unknown');
  assert.equal(late.reason, 'deadline');
  const controller = new AbortController();
  setTimeout(() => controller.abort(), 300);
  const aborted = await client.pay({ ...slow, amount: 2_000, signal: controller.signal });
  assert.ok(aborted.status === 'unknown');
  assert.equal(aborted.reason, 'aborted');
  const resumed = await Promise.all([
    client.pay({ ...slow, idempotencyKey: late.idempotencyKey }),
    client.pay({ ...slow, amount: 2_000, idempotencyKey: aborted.idempotencyKey }),
  ]);
  assert.deepEqual(
    resumed.map(({ status }) => status),
    ['succeeded', 'succeeded'],
  );
  assert.equal(ledger.charges.length, 2);
});

test('throws only what proves that nothing was charged', async (t) => {
  const { client, ledger, service } = await start(t);
  await assert.rejects(client.pay({ ...payment, amount: 1.5 }), { code: 'invalid_request', param: 'amount' });
  await assert.rejects(client.pay({ ...payment, processor: 'none' }), { code: 'processor_not_found' });
  await assert.rejects(client.pay({ ...payment, token: 'tok_processor_error' }), { code: 'processor_error' });
  await assert.rejects(client.pay({ ...payment, signal: AbortSignal.abort() }), { code: 'aborted' });
  await assert.rejects(client.pay({ ...payment, deadlineMs: Number.NaN }), { code: 'invalid_request' });
  await assert.rejects(client.pay({ ...payment, idempotencyKey: 'a\nb' }), TypeError);
  await assert.rejects(client.pay({ ...payment, amount: 1n as unknown as number }), TypeError);
  await assert.rejects(client.payments.cancel({ processor: 'simulated', paymentId: 'pay_none' }), {
    code: 'payment_not_found',
  });
  assert.deepEqual(ledger.charges, []);
  await service.stop();
  await assert.rejects(client.pay({ ...payment, deadlineMs: 500 }), { code: 'connection_failed' });
});

test('a rejection after a lost response does not prove anything', async () => {
  const error = (status: number, fields: object) => {
    const body = { error: { type: 'access', message: '', retryable: false, ...fields } };
    return Response.json({ statusCode: status, body }, { status });
  };
  const scripted = (...responses: (() => Response)[]) => {
    const fetch = async () => {
      const next = responses.shift();
      if (next === undefined) throw new TypeError('fetch failed');
      return next();
    };
    return new Counterfoil({ url: 'http://localhost', fetch }).pay({ ...payment, deadlineMs: 800 });
  };
  const lost = () => {
    throw new TypeError('fetch failed');
  };
  const forbidden = () => error(403, { code: 'forbidden' });
  await assert.rejects(scripted(forbidden), { code: 'forbidden' });
  const rejected = await scripted(lost, forbidden);
  assert.deepEqual([rejected.status, 'reason' in rejected && rejected.reason], ['unknown', 'rejected']);
  const busy = () => error(409, { code: 'idempotency_key_in_use', retryable: true });
  const declined = () => error(402, { type: 'card', code: 'card_declined', decline_code: 'lost_card' });
  assert.equal((await scripted(lost, busy, declined)).status, 'declined');
  const page = () => new Response('<h1>Bad gateway</h1>', { status: 502 });
  const foreign = () => Response.json([]);
  const redirect = () => new Response(null, { status: 302, headers: { location: '/' } });
  for (const strange of [page, foreign, redirect, () => error(500, { code: 'internal' })]) {
    const result = await scripted(strange, declined);
    assert.equal(result.status, 'declined');
    assert.equal((await scripted(strange)).status, 'unknown');
  }
  const review = () => error(504, { type: 'service', code: 'payment_outcome_unknown' });
  const reviewed = await scripted(review);
  assert.deepEqual([reviewed.status, 'reason' in reviewed && reviewed.reason], ['unknown', 'needs_review']);
  const next_action = { type: 'redirect', url: 'https://bank.example/' };
  const action = await scripted(() => error(402, { code: 'authentication_required', next_action }));
  assert.deepEqual(
    [action.status, 'nextAction' in action && action.nextAction],
    ['requires_action', next_action],
  );
});

test('a store that fails proves that nothing was charged only if no earlier request had the key', async () => {
  const body = { error: { type: 'service', code: 'unavailable', message: '', retryable: true } };
  const fetch = async () => Response.json({ statusCode: 503, body }, { status: 503 });
  const client = new Counterfoil({ url: 'http://localhost', fetch });
  await assert.rejects(client.pay({ ...payment, deadlineMs: 300 }), { code: 'unavailable' });
  const repeated = await client.pay({ ...payment, deadlineMs: 300, idempotencyKey: 'cart-1' });
  assert.deepEqual([repeated.status, 'reason' in repeated && repeated.reason], ['unknown', 'deadline']);
  const refund = { processor: 'simulated', paymentId: 'pay_1', deadlineMs: 300 };
  await assert.rejects(client.refund(refund), { code: 'unavailable' });
  assert.equal((await client.refund({ ...refund, idempotencyKey: 'refund-1' })).status, 'unknown');
});

test('charges at Stripe once, whatever becomes of the replies', async (t) => {
  const stripe = await startScriptedStripe(t);
  const env = { COUNTERFOIL_STRIPE_KEY: stripe.key, COUNTERFOIL_STRIPE_API_BASE: stripe.origin };
  const { origin, keyHeader } = await startTestService(t, { env });
  const key = keyHeader.authorization?.slice('Bearer '.length) ?? '';
  const client = new Counterfoil({ url: origin, key });
  const expected: Readonly<Record<string, PayResult['status']>> = {
    paid: 'succeeded',
    insufficient_funds: 'declined',
    dropped_after_charging: 'succeeded',
    declined_and_dropped: 'declined',
    error_after_charging: 'succeeded',
    malformed_after_charging: 'succeeded',
  };
  await assert.rejects(new Counterfoil({ url: origin }).pay({ ...payment, processor: 'stripe' }), {
    code: 'unauthenticated',
  });
  await Promise.all(
    Object.entries(expected).map(async ([word, status], index) => {
      const amount = 1_000 + index;
      const token = `tok_${word}`;
      const result = await client.pay({ processor: 'stripe', amount, currency: 'EUR', token });
      assert.equal(result.status, status, word);
      const charges = stripe.charges.filter((charge) => charge.amount === amount);
      assert.equal(charges.length, status === 'succeeded' ? 1 : 0, word);
      if (result.status === 'succeeded') assert.equal(result.chargeId, charges[0]?.chargeId);
    }),
  );
  for (const [word, status] of [
    ['refund_failed', 'failed'],
    ['refund_pending', 'pending'],
  ] as const) {
    const token = `tok_${word}`;
    const { paymentId } = await client.pay({ processor: 'stripe', amount: 900, currency: 'EUR', token });
    const refunded = await client.refund({ processor: 'stripe', paymentId: paymentId ?? '' });
    assert.equal(refunded.status, status, word);
  }
});
