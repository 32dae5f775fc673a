import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import type {
  ChargeOutcome,
  ConnectedProcessor,
  ProcessorCharge,
  RefundRequest,
  SoughtCharge,
} from '../../src/processors/processor.ts';
import { type SquareSettings, squareProcessor } from '../../src/processors/square/square.ts';
import { chargeOf, givesUpInTime, processorContract } from '../contracts/processor.ts';
import { type RefundFixture, refundContract } from '../contracts/processor-refunds.ts';
import { type ResendFixture, resendContract } from '../contracts/processor-resends.ts';
import {
  type ScriptedSquare,
  singleUseNonce,
  startScriptedSquare,
  tokensOfPairs,
} from '../support/square/scripted-square.ts';

interface Opened {
  readonly square: ScriptedSquare;
  readonly processor: ConnectedProcessor;
}

async function open(t: TestContext, settings: Partial<SquareSettings> = {}): Promise<Opened> {
  const square = await startScriptedSquare(t);
  const { accessToken, origin: apiBase } = square;
  const processor = await squareProcessor({
    accessToken,
    apiBase,
    webhookKeys: [],
    listLagMs: 20,
    ...settings,
  });
  return { square, processor };
}

async function resendFixture(t: TestContext): Promise<ResendFixture> {
  const opened = await open(t);
  const arrivedAt = (path: string) =>
    opened.square.requests.filter((request) => request.method === 'POST' && request.path === path).length;
  return {
    ...fixtureOf(opened),
    lostThenRejected: { charges: tokensOfPairs('payment'), refunds: tokensOfPairs('refund') },
    arrivals: () => ({ charges: arrivedAt('/v2/payments'), refunds: arrivedAt('/v2/refunds') }),
  };
}

async function fixture(t: TestContext): Promise<RefundFixture> {
  return fixtureOf(await open(t));
}

function fixtureOf({ square, processor }: Opened): RefundFixture {
  return {
    processor,
    charges: () => square.charges,
    refunds: () => square.refunds,
    repair: () => square.repair(),
    refundReplyLost: 'cnon:refund-dropped',
    tokens: {
      paid: 'cnon:paid',
      declined: 'cnon:insufficient-funds',
      authenticationRequired: 'cnon:verification-required',
      unknown: 'cnon:unknown',
      turnedAway: 'cnon:rate-limited',
      replyLost: 'cnon:dropped-after-charging',
      neverReplies: 'cnon:never-replies',
    },
  };
}

processorContract('square', fixture);
refundContract('square', fixture);
resendContract('square', resendFixture);

test('square: sends the documented request for an immediate payment', async (t) => {
  const { square, processor } = await open(t, { locationId: 'LOTHER' });
  const request = chargeOf('cnon:paid', { amount: 1_050, currency: 'EUR' });
  await processor.charge(request);
  const [sent, ...more] = square.requests;
  assert.ok(sent !== undefined && more.length === 0);
  assert.equal(`${sent.method} ${sent.path}`, 'POST /v2/payments');
  assert.deepEqual(sent.body, {
    source_id: 'cnon:paid',
    idempotency_key: request.processorKey,
    amount_money: { amount: 1_050, currency: 'EUR' },
    autocomplete: true,
    accept_partial_authorization: false,
    reference_id: request.paymentId,
    location_id: 'LOTHER',
  });
  assert.ok(request.processorKey.length <= 45 && request.paymentId.length <= 40, "Square's bounds");
  assert.equal(sent.headers['square-version'], '2026-09-16');
  assert.equal(sent.headers.authorization, `Bearer ${square.accessToken}`);
});

test('square: sends no location when none is set, so that Square uses the main one', async (t) => {
  const { square, processor } = await open(t);
  await processor.charge(chargeOf('cnon:paid'));
  assert.deepEqual(
    square.requests.map(({ body }) => 'location_id' in body),
    [false],
  );
});

test('square: sends amounts unchanged, in the smallest unit of ISO 4217', async (t) => {
  const { square, processor } = await open(t);
  for (const currency of ['EUR', 'USD', 'JPY']) {
    square.switches.currency = currency;
    const outcome = await processor.charge(chargeOf('cnon:paid', { currency, amount: 1_050 }));
    assert.equal(outcome.kind, 'succeeded');
    assert.deepEqual(square.requests.at(-1)?.body.amount_money, { amount: 1_050, currency });
  }
});

test('square: sends one request, whatever the response, because a retry is not its decision', async (t) => {
  const { square, processor } = await open(t);
  for (const token of ['cnon:rate-limited', 'cnon:error-before-charging', 'cnon:dropped-after-charging']) {
    const before = square.requests.length;
    await processor.charge(chargeOf(token, { timeoutMs: 1_000 }));
    assert.equal(square.requests.length, before + 1, token);
  }
});

const declines = [
  ['insufficient-funds', 'insufficient_funds'],
  ['generic-decline', 'generic_decline'],
  ['card-declined', 'card_declined'],
  ['cvv-failure', 'cvv_failure'],
  ['transaction-limit', 'transaction_limit'],
  ['card-expired', 'card_expired'],
  ['gift-card-too-low', 'insufficient_funds'],
  ['verification-required', 'authentication_required'],
  ['pin-required', 'authentication_required'],
  ['failed', 'generic_decline'],
  ['canceled', 'generic_decline'],
] as const;

for (const [word, declineCode] of declines) {
  test(`square: reports ${word.replaceAll('-', ' ')} as the decline ${declineCode}`, async (t) => {
    const { square, processor } = await open(t);
    const authenticationRequired = declineCode === 'authentication_required';
    const outcome = await processor.charge(chargeOf(`cnon:${word}`));
    assert.deepEqual(outcome, { kind: 'declined', declineCode, authenticationRequired });
    assert.deepEqual(square.charges, []);
  });
}

const rejections = [
  ['token-used', 'token'],
  ['token-expired', 'token'],
  ['card-data-invalid', 'token'],
  ['card-invalid', 'token'],
  ['source-malformed', 'token'],
  ['unknown', 'token'],
  ['amount-too-high', 'amount'],
  ['amount-too-low', 'amount'],
  ['amount-mismatch', 'amount'],
  ['currency-mismatch', 'currency'],
  ['location-unknown', undefined],
] as const;

for (const [word, param] of rejections) {
  test(`square: rejects after ${word.replaceAll('-', ' ')}, naming ${param ?? 'nothing'}`, async (t) => {
    const { square, processor } = await open(t);
    const request = chargeOf(`cnon:${word}`);
    const outcome = await processor.charge(request);
    assert.ok(outcome.kind === 'refused', outcome.kind);
    assert.equal(outcome.param, param);
    repeatsNothing(outcome, word, request.paymentId, request.processorKey, 'Sent');
    assert.deepEqual(square.charges, []);
  });
}

/** Callers get the message, and logs the detail; Square's own sentences begin with "Sent". */
function repeatsNothing(outcome: ChargeOutcome, ...sent: readonly string[]): void {
  const shown = JSON.stringify(outcome);
  for (const each of sent) assert.ok(!shown.includes(each), shown);
}

test('square: rejects a currency that the location does not support, naming it', async (t) => {
  const { square, processor } = await open(t);
  const outcome = await processor.charge(chargeOf('cnon:paid', { currency: 'USD' }));
  assert.ok(outcome.kind === 'refused', outcome.kind);
  assert.equal(outcome.param, 'currency');
  assert.deepEqual(square.charges, []);
});

test('square: rejects a used nonce, and charges nothing', async (t) => {
  const { square, processor } = await open(t);
  assert.equal((await processor.charge(chargeOf(singleUseNonce))).kind, 'succeeded');
  const outcome = await processor.charge(chargeOf(singleUseNonce));
  assert.ok(outcome.kind === 'refused', outcome.kind);
  assert.equal(outcome.param, 'token');
  assert.equal(square.charges.length, 1);
});

test('square: an access token that Square does not know charges nothing', async (t) => {
  const { square, processor } = await open(t);
  const stranger = await squareProcessor({
    accessToken: 'EAAA-unknown',
    apiBase: square.origin,
    webhookKeys: [],
  });
  assert.equal((await stranger.charge(chargeOf('cnon:paid'))).kind, 'not_attempted');
  assert.equal((await processor.charge(chargeOf('cnon:forbidden'))).kind, 'not_attempted');
  assert.deepEqual(square.charges, []);
});

const doubts = ['error-after-charging', 'error-before-charging', 'conflict', 'timed-out', 'temporary-error'];
for (const word of doubts) {
  test(`square: the outcome of a charge after ${word.replaceAll('-', ' ')} is unknown, and the same key resolves it`, async (t) => {
    const { square, processor } = await open(t);
    const request = chargeOf(`cnon:${word}`);
    assert.equal((await processor.charge(request)).kind, 'unknown');
    assert.equal((await processor.charge(request)).kind, 'unknown');
    square.repair();
    const outcome = await processor.charge(request);
    assert.equal(square.charges.length, 1);
    assert.deepEqual(outcome, { kind: 'succeeded', chargeId: square.charges[0]?.chargeId });
  });
}

for (const status of ['approved', 'pending']) {
  test(`square: the outcome of a payment that is ${status} is unknown`, async (t) => {
    const { square, processor } = await open(t);
    const request = chargeOf(`cnon:${status}`);
    assert.equal((await processor.charge(request)).kind, 'unknown');
    assert.equal((await processor.findCharge(soughtOf(request.paymentId))).kind, 'unknown');
    const chargeId = square.addPayment({ reference_id: request.paymentId });
    assert.deepEqual(await processor.findCharge(soughtOf(request.paymentId)), {
      kind: 'succeeded',
      chargeId,
    });
  });
}

test('square: the outcome of a charge whose key was used for another one is unknown', async (t) => {
  const { square, processor } = await open(t);
  const request = chargeOf('cnon:paid');
  await processor.charge(request);
  assert.equal((await processor.charge({ ...request, amount: request.amount + 1 })).kind, 'unknown');
  assert.equal(square.charges.length, 1);
});

for (const [status, body] of [
  [400, '<html>Bad Request</html>'],
  [400, '{"errors":[]}'],
  [402, '{"errors":[]}'],
  [404, '{"message":"no such place"}'],
  [400, '{"errors":[null,7,{"category":"BAD_GATEWAY"}]}'],
  [200, '{}'],
] as const) {
  test(`square: ${status} ${body} is not an outcome of a charge or a refund`, async (t) => {
    const apiBase = await startGateway(t, (response) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(body),
    );
    const { processor } = await open(t, { apiBase });
    const request = chargeOf('cnon:paid');
    assert.equal((await processor.charge(request)).kind, 'unknown');
    const refund = { ...request, refundId: 'ref_', chargeId: 'unknown' };
    assert.equal((await processor.refund(refund)).kind, 'unknown');
    assert.equal((await processor.findRefund(refund)).kind, 'unknown');
  });
}

test('square: gives up in time on a reply that begins and does not end', async (t) => {
  const apiBase = await startGateway(t, (response) => response.writeHead(200).write('{"payment":'));
  const { processor } = await open(t, { apiBase });
  await givesUpInTime(processor, chargeOf('cnon:paid', { timeoutMs: 200 }));
});

/** Starts a server in the place of Square that sends the same response to every request. @returns its origin */
async function startGateway(t: TestContext, respond: (response: ServerResponse) => void): Promise<string> {
  const gateway = createServer((_request, response) => respond(response));
  await new Promise<void>((resolve) => gateway.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    gateway.closeAllConnections();
    gateway.close();
  });
  return `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`;
}

test('square: gives up in time while Square accepts requests and does not respond', async (t) => {
  const { square, processor } = await open(t);
  square.switches.holds = true;
  await givesUpInTime(processor, chargeOf('cnon:paid', { timeoutMs: 200 }));
  const found = await processor.findCharge({ ...soughtOf(chargeOf('').paymentId), timeoutMs: 200 });
  assert.equal(found.kind, 'unknown');
});

test('square: knows which tokens are single-use', async (t) => {
  const { processor } = await open(t);
  for (const token of [singleUseNonce, 'cnon:CBASEF667Xdo69NiVEeuHo_Hj3Q']) {
    assert.equal(processor.isSingleUse(token), true, token);
  }
  const named = ['cnon:card-nonce-ok', 'cnon:card-nonce-rejected-postalcode', 'cnon:gift-card-nonce-ok'];
  for (const token of [...named, 'ccof:customer-card-id-ok', 'ccof:GaJGNaZa8x4OgDJn4GB', 'cnon:paid']) {
    assert.equal(processor.isSingleUse(token), false, token);
  }
});

test('square: finds a payment on the third page of the list', async (t) => {
  const { square, processor } = await open(t);
  square.switches.pageItems = 2;
  for (let others = 0; others < 4; others++) await processor.charge(chargeOf('cnon:paid'));
  const request = chargeOf('cnon:paid');
  const made = await processor.charge(request);
  const asked = square.requests.length;
  assert.deepEqual(await processor.findCharge(soughtOf(request.paymentId)), made);
  assert.equal(square.requests.length - asked, 3);
});

test('square: reports a payment as absent only when every page was read', async (t) => {
  const { square, processor } = await open(t);
  square.switches.pageItems = 2;
  for (let others = 0; others < 5; others++) await processor.charge(chargeOf('cnon:paid'));
  const sought = soughtOf(chargeOf('').paymentId);
  assert.deepEqual(await processor.findCharge(sought), { kind: 'absent' });
  square.switches.failsFromPage = 3;
  assert.equal((await processor.findCharge(sought)).kind, 'unknown');
});

test('square: finds a payment that was missing from the list at first', async (t) => {
  const { square, processor } = await open(t, { listLagMs: 400 });
  square.switches.listLagMs = 300;
  const request = chargeOf('cnon:dropped-after-charging', { timeoutMs: 1_000 });
  await processor.charge(request);
  const found = await processor.findCharge(soughtOf(request.paymentId));
  assert.deepEqual(found, { kind: 'succeeded', chargeId: square.charges[0]?.chargeId });
});

test('square: reads the list once for a payment that the list must contain by now', async (t) => {
  const { square, processor } = await open(t, { listLagMs: 10_000 });
  const { paymentId, askedFrom } = soughtOf(chargeOf('').paymentId);
  const sought = { paymentId, askedFrom, askedUntil: Date.now() - 11_000, timeoutMs: 5_000 };
  assert.deepEqual(await processor.findCharge(sought), { kind: 'absent' });
  assert.equal(square.requests.length, 1);
});

test('square: finds a successful attempt behind a failed one', async (t) => {
  const { square, processor } = await open(t);
  const { paymentId } = chargeOf('');
  const errors = [{ category: 'PAYMENT_METHOD_ERROR', code: 'CVV_FAILURE' }];
  square.addPayment({ reference_id: paymentId, status: 'FAILED', card_details: { errors } });
  const sought = soughtOf(paymentId);
  const declined = { kind: 'declined', declineCode: 'cvv_failure', authenticationRequired: false };
  assert.deepEqual(await processor.findCharge(sought), declined);
  const chargeId = square.addPayment({ reference_id: paymentId });
  assert.deepEqual(await processor.findCharge(sought), { kind: 'succeeded', chargeId });
});

test('square: looks up charges at its own location', async (t) => {
  const { square, processor } = await open(t, { locationId: 'LOTHER' });
  const request = chargeOf('cnon:paid');
  const made = await processor.charge(request);
  assert.deepEqual(await processor.findCharge(soughtOf(request.paymentId)), made);
  assert.equal(square.requests.at(-1)?.query.location_id, 'LOTHER');
});

test('square: sends the documented request for a refund, with our refund id in the reason', async (t) => {
  const { square, processor } = await open(t);
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
    const { processor } = await open(t);
    const request = await refundAfter(processor, `cnon:${word}`, 700);
    const outcome = await processor.refund(request);
    assert.equal(outcome.kind, kind);
    assert.deepEqual(await processor.findRefund(request), outcome);
  });
}

for (const [word, kind] of [
  ['refund-already-pending', 'not_attempted'],
  ['refund-rate-limited', 'not_attempted'],
  ['refund-disputed', 'refused'],
  ['refund-error', 'unknown'],
] as const) {
  test(`square: after ${word.replaceAll('-', ' ')} the outcome is ${kind}, and nothing was refunded`, async (t) => {
    const { square, processor } = await open(t);
    const request = await refundAfter(processor, `cnon:${word}`, 700);
    assert.equal((await processor.refund(request)).kind, kind);
    assert.deepEqual(square.refunds, []);
    assert.deepEqual(await processor.findRefund(request), { kind: 'absent' });
  });
}

test('square: gives up in time on a refund without a reply, and finds it', async (t) => {
  const { square, processor } = await open(t);
  const request = await refundAfter(processor, 'cnon:refund-never-replies', 700);
  assert.equal((await processor.refund({ ...request, timeoutMs: 200 })).kind, 'unknown');
  const found = await processor.findRefund(request);
  assert.deepEqual(found, { kind: 'pending', processorRefundId: square.refunds[0]?.processorRefundId });
  square.settle(square.refunds[0]?.processorRefundId ?? '', 'COMPLETED');
  assert.equal((await processor.findRefund(request)).kind, 'succeeded');
});

test('square: distinguishes our refund from those made on the dashboard', async (t) => {
  const { square, processor } = await open(t);
  const request = await refundAfter(processor, 'cnon:paid', 700);
  const part = { amount: 500, currency: 'EUR' };
  square.addRefund(request.chargeId, { amount_money: part, reason: 'Broken' });
  square.addRefund(request.chargeId, { amount_money: part });
  assert.deepEqual(await processor.findRefund(request), { kind: 'absent' });
  const made = await processor.refund(request);
  assert.deepEqual(await processor.findRefund(request), made);
});

test('square: does not report a refund as absent when its payment cannot be read', async (t) => {
  const { processor } = await open(t);
  const { refundId } = await refundAfter(processor, 'cnon:paid', 700);
  const found = await processor.findRefund({ refundId, chargeId: 'unknown', timeoutMs: 5_000 });
  assert.equal(found.kind, 'unknown');
});

test('square: lists charges of other systems too, and none that moved no money', async (t) => {
  const { square, processor } = await open(t);
  square.switches.pageItems = 2;
  const ours = chargeOf('cnon:paid');
  const made = await processor.charge(ours);
  for (const word of ['insufficient-funds', 'approved', 'pending', 'canceled'])
    await processor.charge(chargeOf(`cnon:${word}`));
  const until = Date.now() + 60_000;
  square.addPayment({ location_id: 'LOTHER' });
  const at = (time: number) => ({ created_at: new Date(time).toISOString() });
  const tipped = { amount: 1_200, currency: 'EUR' };
  const theirs = square.addPayment({ ...at(until - 1), reference_id: 'table 7', total_money: tipped });
  square.addPayment(at(until));
  const listed: ProcessorCharge[] = [];
  for await (const charge of processor.charges({ from: until - 120_000, until })) listed.push(charge);
  assert.ok(made.kind === 'succeeded');
  const currency = 'EUR';
  assert.deepEqual(listed, [
    { chargeId: made.chargeId, paymentId: ours.paymentId, amount: 2_000, amountRefunded: 0, currency },
    { chargeId: theirs, paymentId: undefined, amount: 1_200, amountRefunded: 0, currency },
  ]);
});

test('square: rejects when its charges cannot be read to the end', async (t) => {
  const { square, processor } = await open(t);
  square.switches.pageItems = 2;
  for (let others = 0; others < 3; others++) await processor.charge(chargeOf('cnon:paid'));
  square.switches.failsFromPage = 2;
  await assert.rejects(async () => {
    for await (const _charge of processor.charges({ from: 0, until: Date.now() + 1_000 }));
  });
});

function soughtOf(paymentId: string): SoughtCharge {
  return { paymentId, askedFrom: Date.now() - 60_000, askedUntil: Date.now() + 60_000, timeoutMs: 5_000 };
}

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
