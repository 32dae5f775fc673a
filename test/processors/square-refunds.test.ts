import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConnectedProcessor, RefundRequest } from '../../src/processors/processor.ts';
import { chargeOf } from '../contracts/processor.ts';
import { openSquare } from '../support/square/adapter.ts';

test('square: sends the documented request for a refund, with our refund id in the reason', async (t) => {
  const { square, processor } = await openSquare(t);
  const request = await refundAfter(processor, 'cnon:paid', 700);
  await processor.refund(request);
  const sent = square.requests.at(-1);
  assert.equal(`${sent?.method} ${sent?.path}`, 'POST /v2/refunds');
  assert.deepEqual(sent?.body, {
    idempotency_key: request.processorKey,
    payment_id: request.chargeId,
    amount_money: { amount: 700, currency: 'EUR' },
    reason: `Counterfoil ${request.refundId}`,
  });
});

for (const [word, kind] of [
  ['paid', 'pending'],
  ['refund-completed', 'succeeded'],
  ['refund-rejected', 'failed'],
  ['refund-failed', 'failed'],
] as const) {
  test(`square: a refund of ${word.replaceAll('-', ' ')} is ${kind}, also when it is found`, async (t) => {
    const { processor } = await openSquare(t);
    const request = await refundAfter(processor, `cnon:${word}`, 700);
    const outcome = await processor.refund(request);
    assert.equal(outcome.kind, kind);
    assert.deepEqual(await processor.findRefund(request), outcome);
  });
}

for (const [word, kind] of [
  ['refund-already-pending', 'not_attempted'],
  ['refund-rate-limited', 'not_attempted'],
  ['refund-disputed', 'rejected'],
  ['refund-error', 'unknown'],
] as const) {
  test(`square: after ${word.replaceAll('-', ' ')} the outcome is ${kind}, and nothing was refunded`, async (t) => {
    const { square, processor } = await openSquare(t);
    const request = await refundAfter(processor, `cnon:${word}`, 700);
    assert.equal((await processor.refund(request)).kind, kind);
    assert.deepEqual(square.refunds, []);
    assert.deepEqual(await processor.findRefund(request), { kind: 'absent' });
  });
}

test('square: gives up in time on a refund without a reply, and finds it', async (t) => {
  const { square, processor } = await openSquare(t);
  const request = await refundAfter(processor, 'cnon:refund-never-replies', 700);
  assert.equal((await processor.refund({ ...request, timeoutMs: 200 })).kind, 'unknown');
  const found = await processor.findRefund(request);
  assert.deepEqual(found, { kind: 'pending', processorRefundId: square.refunds[0]?.processorRefundId });
  square.settle(square.refunds[0]?.processorRefundId ?? '', 'COMPLETED');
  assert.equal((await processor.findRefund(request)).kind, 'succeeded');
});

test('square: distinguishes our refund from those made on the dashboard', async (t) => {
  const { square, processor } = await openSquare(t);
  const request = await refundAfter(processor, 'cnon:paid', 700);
  const part = { amount: 500, currency: 'EUR' };
  square.addRefund(request.chargeId, { amount_money: part, reason: 'Broken' });
  square.addRefund(request.chargeId, { amount_money: part });
  assert.deepEqual(await processor.findRefund(request), { kind: 'absent' });
  const made = await processor.refund(request);
  assert.deepEqual(await processor.findRefund(request), made);
});

test('square: does not report a refund as absent when its payment cannot be read', async (t) => {
  const { processor } = await openSquare(t);
  const { refundId } = await refundAfter(processor, 'cnon:paid', 700);
  const found = await processor.findRefund({ refundId, chargeId: 'unknown', timeoutMs: 5_000 });
  assert.equal(found.kind, 'unknown');
});

async function refundAfter(
  processor: ConnectedProcessor,
  token: string,
  amount: number,
): Promise<RefundRequest> {
  const { paymentId, processorKey, currency, ...request } = chargeOf(token);
  const charged = await processor.charge({ paymentId, processorKey, currency, ...request });
  assert.ok(charged.kind === 'succeeded', charged.kind);
  return {
    refundId: paymentId.replace('pay_', 'ref_'),
    paymentId,
    chargeId: charged.chargeId,
    processorKey: chargeOf(token).processorKey,
    amount,
    currency,
    timeoutMs: 5_000,
  };
}
