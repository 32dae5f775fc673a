import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConnectedProcessor } from '../../src/processors/processor.ts';
import type { Delivery, ProcessorEvent } from '../../src/processors/reports.ts';
import { squareProcessor } from '../../src/processors/square/square.ts';
import { signedDelivery, squareEvent } from '../support/square/scripted-square.ts';

const url = 'https://pay.example/stage/events/square';
const key = 'asdf1234-signature-key';
const paymentId = `pay_${'0a'.repeat(16)}`;
const refundId = `ref_${'0b'.repeat(16)}`;
const chargeId = 'hYy9pRFVxpDsO1FB05SunFWUe9JZY';
const amount_money = { amount: 1_050, currency: 'EUR' };
const payment = { id: chargeId, reference_id: paymentId, amount_money, status: 'COMPLETED' };
const paid = squareEvent('payment.updated', { payment });

function processorWith(webhookKeys: readonly string[], webhookUrl: string | undefined = url) {
  const apiBase = 'http://127.0.0.1:9';
  return squareProcessor({ accessToken: 'EAAA-scripted', apiBase, webhookKeys, webhookUrl });
}

async function changeOf(event: unknown): Promise<ProcessorEvent['change'] | undefined> {
  const reading = await (await processorWith([key])).readEvent(signedDelivery(event, { key, url }));
  if (reading.kind !== 'event') assert.equal(reading.kind, 'irrelevant');
  return reading.kind === 'event' ? reading.event.change : undefined;
}

async function isForged(processor: ConnectedProcessor, delivery: Delivery): Promise<void> {
  assert.equal((await processor.readEvent(delivery)).kind, 'invalid_signature');
}

test('square: reads an event that Square has signed, with its id and the time at which it happened', async () => {
  const processor = await processorWith([key]);
  assert.partialDeepStrictEqual(await processor.readEvent(signedDelivery(paid, { key, url })), {
    kind: 'event',
    event: {
      id: paid.event_id,
      happenedAt: Date.parse('2026-11-20T10:00:00.250Z'),
      change: { about: 'charge', paymentId, outcome: { kind: 'succeeded', chargeId } },
    },
  });
});

test('square: verifies a signature that OpenSSL made', async () => {
  // printf '%s%s' "$url" "$body" | openssl dgst -sha256 -hmac "$key" -binary | base64
  const body = Buffer.from('{"type":"labor.shift.created"}');
  const headers = { 'x-square-hmacsha256-signature': 'ctVzeXiaELUL0bgO1BY1zcpE/m08DQIMH3adYqHPl/o=' };
  const reading = await (await processorWith([key])).readEvent({ headers, body, receivedAt: 0 });
  assert.equal(reading.kind, 'irrelevant');
});

test('square: accepts an event however late it arrives, because Square signs no time', async () => {
  const processor = await processorWith([key]);
  const delivery = { ...signedDelivery(paid, { key, url }), receivedAt: Date.parse('2027-06-01T00:00:00Z') };
  assert.equal((await processor.readEvent(delivery)).kind, 'event');
});

test('square: accepts an event signed by the old or the new key while both are set', async () => {
  const processor = await processorWith(['the-new-key', key]);
  for (const each of ['the-new-key', key]) {
    const reading = await processor.readEvent(signedDelivery(paid, { key: each, url }));
    assert.equal(reading.kind, 'event', each);
  }
  await isForged(processor, signedDelivery(paid, { key: 'a-third-key', url }));
});

test('square: rejects an event that is signed for another URL', async () => {
  const delivery = signedDelivery(paid, { key, url: `${url}/` });
  await isForged(await processorWith([key]), delivery);
});

test('square: rejects an event with one changed byte', async () => {
  const processor = await processorWith([key]);
  const { body, ...delivery } = signedDelivery(paid, { key, url });
  const changed = Buffer.from(body.toString().replace('1050', '1051'));
  assert.equal(changed.length, body.length);
  await isForged(processor, { ...delivery, body: changed });
  await isForged(processor, { ...delivery, body: Buffer.concat([body, Buffer.from(' ')]) });
});

test('square: rejects an event with a missing or malformed signature', async () => {
  const processor = await processorWith([key]);
  const delivery = signedDelivery(paid, { key, url });
  const right = delivery.headers['x-square-hmacsha256-signature'] as string;
  await isForged(processor, { ...delivery, headers: {} });
  for (const signature of ['', 'x', right.slice(0, -1), `${right}=`, right.toLowerCase(), 'é'.repeat(22)]) {
    await isForged(processor, { ...delivery, headers: { 'x-square-hmacsha256-signature': signature } });
  }
});

test('square: reads no event without a key, or without the notification URL', async () => {
  const delivery = signedDelivery(paid, { key, url });
  assert.deepEqual(await (await processorWith([])).readEvent(delivery), { kind: 'not_configured' });
  const withoutUrl = await squareProcessor({
    accessToken: 'EAAA-scripted',
    apiBase: 'http://127.0.0.1:9',
    webhookKeys: [key],
  });
  assert.deepEqual(await withoutUrl.readEvent(delivery), { kind: 'not_configured' });
});

test('square: reports a failed or canceled payment as a decline', async () => {
  const errors = [{ category: 'PAYMENT_METHOD_ERROR', code: 'INSUFFICIENT_FUNDS' }];
  const failed = { ...payment, status: 'FAILED', card_details: { status: 'FAILED', errors } };
  const decline = { kind: 'declined', authenticationRequired: false };
  assert.partialDeepStrictEqual(await changeOf(squareEvent('payment.created', { payment: failed })), {
    about: 'charge',
    paymentId,
    outcome: { ...decline, declineCode: 'insufficient_funds' },
  });
  const canceled = { ...payment, status: 'CANCELED' };
  assert.partialDeepStrictEqual(await changeOf(squareEvent('payment.updated', { payment: canceled })), {
    about: 'charge',
    paymentId,
    outcome: { ...decline, declineCode: 'generic_decline' },
  });
});

test('square: reports no change for a payment that is undecided or not ours', async () => {
  for (const change of [
    { status: 'APPROVED' },
    { status: 'PENDING' },
    { status: undefined },
    { reference_id: undefined },
    { reference_id: 'table 7' },
    { reference_id: `${paymentId}0` },
  ]) {
    const event = squareEvent('payment.updated', { payment: { ...payment, ...change } });
    assert.equal(await changeOf(event), undefined, JSON.stringify(change));
  }
});

test('square: reports refunds, ours with our id and others without one', async () => {
  const refund = { id: 'R1', payment_id: chargeId, amount_money, reason: `Counterfoil ${refundId}` };
  const change = { about: 'refund', chargeId, processorRefundId: 'R1', amount: 1_050 };
  for (const [status, state] of [
    ['PENDING', 'pending'],
    ['COMPLETED', 'succeeded'],
    ['REJECTED', 'failed'],
    ['FAILED', 'failed'],
  ]) {
    const event = squareEvent('refund.updated', { refund: { ...refund, status } });
    assert.partialDeepStrictEqual(await changeOf(event), { ...change, refundId, state });
  }
  for (const reason of [undefined, 'Broken', `about ${refundId}`, `Counterfoil ${refundId} too`]) {
    const event = squareEvent('refund.created', { refund: { ...refund, status: 'PENDING', reason } });
    assert.partialDeepStrictEqual(await changeOf(event), {
      ...change,
      refundId: undefined,
      state: 'pending',
    });
  }
});

test('square: reports disputes with Square’s reason', async () => {
  const dispute = {
    id: 'XDgyFu7yo1E2S5lQGGpYn',
    amount_money,
    disputed_payment: { payment_id: chargeId },
    reason: 'NO_KNOWLEDGE',
    state: 'EVIDENCE_REQUIRED',
  };
  const change = { about: 'dispute', chargeId, disputeId: dispute.id, amount: 1_050, reason: 'NO_KNOWLEDGE' };
  assert.partialDeepStrictEqual(await changeOf(squareEvent('dispute.created', { dispute })), {
    ...change,
    status: 'EVIDENCE_REQUIRED',
    isWithdrawn: true,
  });
  const won = { ...dispute, id: undefined, dispute_id: dispute.id, state: 'WON' };
  assert.partialDeepStrictEqual(await changeOf(squareEvent('dispute.state.updated', { dispute: won })), {
    ...change,
    status: 'WON',
    isWithdrawn: false,
  });
  for (const [state, isWithdrawn] of [
    ['PROCESSING', true],
    ['LOST', true],
    ['ACCEPTED', true],
    ['INQUIRY_EVIDENCE_REQUIRED', false],
    ['INQUIRY_PROCESSING', false],
    ['INQUIRY_CLOSED', false],
  ] as const) {
    const event = squareEvent('dispute.state.updated', { dispute: { ...dispute, state } });
    assert.partialDeepStrictEqual(await changeOf(event), { ...change, status: state, isWithdrawn });
  }
});

test('square: ignores signed events that do not match the documentation', async () => {
  const types = ['payment.updated', 'refund.updated', 'dispute.created', 'dispute.state.updated'];
  const objects = [
    {},
    { payment: null, refund: null, dispute: null },
    { payment: 7, refund: 'x', dispute: [] },
  ];
  const odd = [
    ...types.flatMap((type) => objects.map((object) => squareEvent(type, object))),
    squareEvent('order.created', { order_created: {} }),
    { ...paid, event_id: undefined },
    { ...paid, event_id: 7 },
    { ...paid, created_at: 'yesterday' },
    { ...paid, data: null },
    squareEvent('refund.updated', {
      refund: { id: 'R1', payment_id: chargeId, amount_money: { amount: 'all' } },
    }),
    squareEvent('payment.updated', {
      payment: { ...payment, status: 'FAILED', reference_id: 1, card_details: 1 },
    }),
    ...['', 'no JSON', 'null', '[]', '"text"', '7', '{"data":', '\u0000'],
  ];
  for (const event of odd) assert.equal(await changeOf(event), undefined, JSON.stringify(event));
});
