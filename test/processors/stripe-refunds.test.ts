import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import type { ChargeRequest, RefundRequest } from '../../src/processors/processor.ts';
import { chargeOf } from '../contracts/processor.ts';
import { overrunOf } from '../support/busy-machine.ts';
import { openStripe, type StripeWithAdapter } from '../support/stripe/adapter.ts';
import { droppedLateAfterMs } from '../support/stripe/scripted-stripe.ts';

/** A refund of a charge that was made with the token. */
async function refundOf(
  { processor }: StripeWithAdapter,
  token: string,
  fields: Partial<ChargeRequest> = {},
): Promise<RefundRequest> {
  const request = chargeOf(token, fields);
  const charged = await processor.charge(request);
  assert.ok(charged.kind === 'succeeded', charged.kind);
  return {
    refundId: `ref_${randomBytes(16).toString('hex')}`,
    paymentId: request.paymentId,
    chargeId: charged.chargeId,
    processorKey: `cf_${randomBytes(20).toString('hex')}`,
    amount: request.amount,
    currency: request.currency,
    timeoutMs: 5_000,
  };
}

const found = ({ refundId, chargeId }: RefundRequest) => ({ refundId, chargeId, timeoutMs: 5_000 });

test('stripe: requests a refund of its charge, with our ids and our key', async (t) => {
  const opened = await openStripe(t);
  const request = await refundOf(opened, 'tok_paid');
  await opened.processor.refund(request);
  const sent = opened.stripe.requests.at(-1);
  assert.equal(sent?.path, '/v1/refunds');
  assert.equal(sent?.headers['idempotency-key'], request.processorKey);
  assert.deepEqual(sent?.fields, {
    charge: request.chargeId,
    amount: '2000',
    'metadata[counterfoil_payment_id]': request.paymentId,
    'metadata[counterfoil_refund_id]': request.refundId,
  });
});

for (const kind of ['pending', 'failed'] as const) {
  test(`stripe: reports a refund that is ${kind}, also in a look-up`, async (t) => {
    const opened = await openStripe(t);
    const request = await refundOf(opened, `tok_refund_${kind}`);
    const outcome = await opened.processor.refund(request);
    const [made] = opened.stripe.records().refunds;
    assert.deepEqual(outcome, { kind, processorRefundId: made?.id });
    assert.deepEqual(await opened.processor.findRefund(found(request)), outcome);
  });
}

for (const [status, kind] of [
  ['succeeded', 'succeeded'],
  ['failed', 'failed'],
  ['canceled', 'failed'],
] as const) {
  test(`stripe: finds that a pending refund has become ${status}`, async (t) => {
    const opened = await openStripe(t);
    const request = await refundOf(opened, 'tok_refund_pending');
    const outcome = await opened.processor.refund(request);
    assert.ok(outcome.kind === 'pending');
    opened.stripe.command({ settleRefund: { id: outcome.processorRefundId, status } });
    assert.deepEqual(await opened.processor.findRefund(found(request)), { ...outcome, kind });
  });
}

test('stripe: rejects a second refund of a charge', async (t) => {
  const opened = await openStripe(t);
  const request = await refundOf(opened, 'tok_paid');
  assert.equal((await opened.processor.refund(request)).kind, 'succeeded');
  const second = await opened.processor.refund({ ...request, processorKey: 'cf_another', refundId: 'ref_b' });
  assert.ok(second.kind === 'rejected');
  assert.match(second.message, /charge_already_refunded/);
  assert.equal(opened.stripe.records().refunds.length, 1);
});

test('stripe: rejects a refund that Stripe rejects, and one of a charge that Stripe does not know', async (t) => {
  const opened = await openStripe(t);
  const request = await refundOf(opened, 'tok_refund_rejected');
  for (const chargeId of [request.chargeId, 'ch_unknown']) {
    const outcome = await opened.processor.refund({ ...request, processorKey: `cf_${chargeId}`, chargeId });
    assert.ok(outcome.kind === 'rejected', outcome.kind);
    assert.ok(!outcome.message.includes(chargeId));
  }
  assert.deepEqual(opened.stripe.records().refunds, []);
});

test('stripe: a refund after 429 was not attempted, and is made by a later request', async (t) => {
  const opened = await openStripe(t);
  const request = await refundOf(opened, 'tok_refund_rate_limited');
  assert.equal((await opened.processor.refund(request)).kind, 'not_attempted');
  assert.deepEqual(await opened.processor.findRefund(found(request)), { kind: 'absent' });
  opened.stripe.repair();
  assert.equal((await opened.processor.refund(request)).kind, 'succeeded');
  assert.equal(opened.stripe.records().refunds.length, 1);
});

for (const word of ['error_after', 'dropped', 'cut', 'malformed']) {
  test(`stripe: the outcome of a refund whose reply is ${word} is unknown, and is found`, async (t) => {
    const opened = await openStripe(t);
    const request = await refundOf(opened, `tok_refund_${word}`);
    for (const _again of [1, 2]) assert.equal((await opened.processor.refund(request)).kind, 'unknown');
    const [made, ...more] = opened.stripe.records().refunds;
    assert.deepEqual(more, []);
    assert.deepEqual(await opened.processor.findRefund(found(request)), {
      kind: 'succeeded',
      processorRefundId: made?.id,
    });
  });
}

for (const word of ['error_before', 'key_in_use']) {
  test(`stripe: the outcome of a refund after ${word} is unknown, and no refund is found`, async (t) => {
    const opened = await openStripe(t);
    const request = await refundOf(opened, `tok_refund_${word}`);
    assert.equal((await opened.processor.refund(request)).kind, 'unknown');
    assert.deepEqual(await opened.processor.findRefund(found(request)), { kind: 'absent' });
  });
}

test('stripe: the outcome of a refund whose key was used for another one is unknown', async (t) => {
  const opened = await openStripe(t);
  const request = await refundOf(opened, 'tok_paid');
  await opened.processor.refund({ ...request, amount: 500 });
  assert.equal((await opened.processor.refund({ ...request, amount: 501 })).kind, 'unknown');
  assert.equal(opened.stripe.records().refunds.length, 1);
});

test('stripe: waits for a late reply to a refund, and gives up in time on one that never comes', async (t) => {
  const opened = await openStripe(t);
  const late = await refundOf(opened, 'tok_refund_delayed');
  assert.equal((await opened.processor.refund(late)).kind, 'succeeded');
  for (const word of ['never_replies', 'dropped_late']) {
    const never = await refundOf(opened, `tok_refund_${word}`);
    const timeoutMs = droppedLateAfterMs + 20;
    const call = () => opened.processor.refund({ ...never, timeoutMs });
    const { result, overrunMs } = await overrunOf(call, timeoutMs);
    assert.equal(result.kind, 'unknown');
    assert.ok(overrunMs < 500, word);
  }
});

test('stripe: does not report a refund as absent when the look-up fails', async (t) => {
  const opened = await openStripe(t);
  const request = await refundOf(opened, 'tok_paid');
  await opened.processor.refund(request);
  opened.stripe.turnsAway = true;
  assert.equal((await opened.processor.findRefund(found(request))).kind, 'unknown');
  opened.stripe.turnsAway = false;
  opened.stripe.holds = true;
  const inVain = { ...found(request), timeoutMs: 200 };
  assert.equal((await opened.processor.findRefund(inVain)).kind, 'unknown');
});

/** The currencies whose smallest unit at Stripe differs from ISO 4217: our amount, and Stripe's. */
for (const [currency, iso, counted] of [
  ['ISK', 500, 50_000],
  ['UGX', 500, 50_000],
  ['MGA', 50_000, 500],
  ['JPY', 500, 500],
] as const) {
  test(`stripe: refunds in ${currency} the amount that it charged, and records it`, async (t) => {
    const opened = await openStripe(t);
    const request = await refundOf(opened, 'tok_paid', { currency, amount: iso });
    await opened.processor.refund(request);
    assert.equal(opened.stripe.records().refunds[0]?.amount, counted);
    const now = Date.now();
    const period = { from: now - 60_000, until: now + 60_000 };
    const [{ amount, amountRefunded } = {}] = await Array.fromAsync(opened.processor.charges(period));
    assert.deepEqual([amount, amountRefunded], [iso, iso]);
  });
}

test('stripe: rejects a refund of less than Stripe’s smallest unit', async (t) => {
  const opened = await openStripe(t);
  const request = await refundOf(opened, 'tok_paid', { currency: 'MGA', amount: 50_000 });
  assert.equal((await opened.processor.refund({ ...request, amount: 50 })).kind, 'rejected');
  assert.deepEqual(opened.stripe.records().refunds, []);
});
