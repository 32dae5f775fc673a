import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refundsPerPaymentMax } from '../../src/payments/limits.ts';
import { chargeOf } from '../contracts/processor.ts';
import { RawConnection } from '../support/http/raw-http.ts';
import { chargeRequest, path, startWithStripe } from '../support/payments/stripe-service.ts';
import { openStripe } from '../support/stripe/adapter.ts';

test('two Idempotency-Key headers are rejected, not joined', async (t) => {
  const { service, stripe } = await startWithStripe(t);
  const body = JSON.stringify({ ...chargeRequest, token: 'tok_paid' });
  const connection = await RawConnection.open(service.origin);
  t.after(() => connection.close());
  connection.send(
    [
      `POST ${path} HTTP/1.1`,
      'Host: 127.0.0.1',
      'Content-Type: application/json',
      'Idempotency-Key: a',
      'Idempotency-Key: b',
      `Content-Length: ${body.length}`,
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  );
  const reply = await connection.response();
  assert.deepEqual([reply.status, reply.json.body.error.param], [400, 'Idempotency-Key']);
  assert.deepEqual(stripe.charges, []);
});

test('an amount that Stripe accepts in tens only is rejected without a call', async (t) => {
  const { stripe, processor } = await openStripe(t);
  for (const currency of ['BHD', 'JOD', 'KWD', 'OMR', 'TND']) {
    const rejected = await processor.charge(chargeOf('tok_paid', { currency, amount: 1_055 }));
    assert.ok(rejected.kind === 'rejected' && rejected.param === 'amount', currency);
    assert.match(rejected.message, /in tens only/);
    assert.equal(
      (await processor.charge(chargeOf('tok_paid', { currency, amount: 1_050 }))).kind,
      'succeeded',
    );
  }
  assert.equal(stripe.charges.length, 5);
});

test('the log has Stripe’s request id and the rejected parameter', async (t) => {
  const { service } = await startWithStripe(t);
  const rejected = await service.post(path, { ...chargeRequest, token: 'tok_amount_too_small' });
  assert.equal(rejected.status, 400);
  assert.match(service.logged(), /"detail":"StripeInvalidRequestError 400 [^"]*param amount request req_/);
  const [, theirs = ''] = /request (req_[0-9a-f]+)/.exec(service.logged()) ?? [];
  assert.ok(!rejected.text.includes(theirs), 'the caller gets only our request id');
});

test('refunds that were not attempted do not use up the limit of refunds', async (t) => {
  const { service, stripe } = await startWithStripe(t);
  const paid = await service.post(path, { ...chargeRequest, token: 'tok_paid' });
  const refund = `${paid.headers.get('location')}/refund`;
  stripe.turnsAway = true;
  for (let tried = 0; tried <= refundsPerPaymentMax; tried++) {
    assert.equal((await service.post(refund, { amount: 1 })).status, 502);
  }
  stripe.turnsAway = false;
  const given = await service.post(refund, { amount: 1 });
  assert.equal(given.status, 200, given.text);
  const { refunds } = (await service.get(paid.headers.get('location') ?? '')).json.body;
  assert.ok(refunds.length <= 52, `the record has ${refunds.length} refunds`);
});
