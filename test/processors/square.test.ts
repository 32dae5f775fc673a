import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import type { ChargeOutcome } from '../../src/processors/processor.ts';
import { squareProcessor } from '../../src/processors/square/square.ts';
import { chargeOf, givesUpInTime, processorContract } from '../contracts/processor.ts';
import { refundContract } from '../contracts/processor-refunds.ts';
import { resendContract } from '../contracts/processor-resends.ts';
import { openSquare, soughtOf, squareFixture, squareResendFixture } from '../support/square/adapter.ts';
import { singleUseNonce } from '../support/square/scripted-square.ts';

processorContract('square', squareFixture);
refundContract('square', squareFixture);
resendContract('square', squareResendFixture);

test('square: sends the documented request for an immediate payment', async (t) => {
  const { square, processor } = await openSquare(t, { locationId: 'LOTHER' });
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

test('square: sends the description as a note, the suffix and the address of the receipt, and no metadata', async (t) => {
  const { square, processor } = await openSquare(t);
  const details = {
    metadata: { order: '7' },
    description: 'Two posters',
    statementDescriptorSuffix: 'POSTERS',
    receiptEmail: 'ada@example.org',
  };
  const outcome = await processor.charge(chargeOf('cnon:paid', details));
  assert.equal(outcome.kind, 'succeeded');
  const { note, statement_description_identifier, buyer_email_address, metadata } =
    square.requests.at(-1)?.body ?? {};
  assert.deepEqual(
    [note, statement_description_identifier, buyer_email_address, metadata],
    ['Two posters', 'POSTERS', 'ada@example.org', undefined],
  );
});

test('square: rejects a statement descriptor suffix of more than 20 characters, without a request', async (t) => {
  const { square, processor } = await openSquare(t);
  const outcome = await processor.charge(
    chargeOf('cnon:paid', { statementDescriptorSuffix: 'A'.repeat(21) }),
  );
  assert.partialDeepStrictEqual(
    [outcome.kind, 'param' in outcome ? outcome.param : undefined],
    ['rejected', 'statement_descriptor_suffix'],
  );
  assert.deepEqual(square.requests, []);
});

test('square: sends no location when none is set, so that Square uses the main one', async (t) => {
  const { square, processor } = await openSquare(t);
  await processor.charge(chargeOf('cnon:paid'));
  assert.deepEqual(
    square.requests.map(({ body }) => 'location_id' in body),
    [false],
  );
});

test('square: sends amounts unchanged, in the smallest unit of ISO 4217', async (t) => {
  const { square, processor } = await openSquare(t);
  for (const currency of ['EUR', 'USD', 'JPY']) {
    square.switches.currency = currency;
    const outcome = await processor.charge(chargeOf('cnon:paid', { currency, amount: 1_050 }));
    assert.equal(outcome.kind, 'succeeded');
    assert.deepEqual(square.requests.at(-1)?.body.amount_money, { amount: 1_050, currency });
  }
});

test('square: sends one request, whatever the response, because a retry is not its decision', async (t) => {
  const { square, processor } = await openSquare(t);
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
    const { square, processor } = await openSquare(t);
    const authenticationRequired = declineCode === 'authentication_required';
    const outcome = await processor.charge(chargeOf(`cnon:${word}`));
    assert.partialDeepStrictEqual(outcome, { kind: 'declined', declineCode, authenticationRequired });
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
    const { square, processor } = await openSquare(t);
    const request = chargeOf(`cnon:${word}`);
    const outcome = await processor.charge(request);
    assert.ok(outcome.kind === 'rejected', outcome.kind);
    assert.equal(outcome.param, param);
    repeatsNothing(outcome, word, request.paymentId, request.processorKey, 'Sent');
    assert.deepEqual(square.charges, []);
  });
}

test('square: rejects a currency that the location does not support, naming it', async (t) => {
  const { square, processor } = await openSquare(t);
  const outcome = await processor.charge(chargeOf('cnon:paid', { currency: 'USD' }));
  assert.ok(outcome.kind === 'rejected', outcome.kind);
  assert.equal(outcome.param, 'currency');
  assert.deepEqual(square.charges, []);
});

test('square: rejects a used nonce, and charges nothing', async (t) => {
  const { square, processor } = await openSquare(t);
  assert.equal((await processor.charge(chargeOf(singleUseNonce))).kind, 'succeeded');
  const outcome = await processor.charge(chargeOf(singleUseNonce));
  assert.ok(outcome.kind === 'rejected', outcome.kind);
  assert.equal(outcome.param, 'token');
  assert.equal(square.charges.length, 1);
});

test('square: an access token that Square does not know charges nothing', async (t) => {
  const { square, processor } = await openSquare(t);
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
    const { square, processor } = await openSquare(t);
    const request = chargeOf(`cnon:${word}`);
    assert.equal((await processor.charge(request)).kind, 'unknown');
    assert.equal((await processor.charge(request)).kind, 'unknown');
    square.repair();
    const outcome = await processor.charge(request);
    assert.equal(square.charges.length, 1);
    assert.partialDeepStrictEqual(outcome, { kind: 'succeeded', chargeId: square.charges[0]?.chargeId });
  });
}

for (const status of ['approved', 'pending']) {
  test(`square: the outcome of a payment that is ${status} is unknown`, async (t) => {
    const { square, processor } = await openSquare(t);
    const request = chargeOf(`cnon:${status}`);
    assert.equal((await processor.charge(request)).kind, 'unknown');
    assert.equal((await processor.findCharge(soughtOf(request.paymentId))).kind, 'unknown');
    const chargeId = square.addPayment({ reference_id: request.paymentId });
    assert.partialDeepStrictEqual(await processor.findCharge(soughtOf(request.paymentId)), {
      kind: 'succeeded',
      chargeId,
    });
  });
}

test('square: the outcome of a charge whose key was used for another one is unknown', async (t) => {
  const { square, processor } = await openSquare(t);
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
    const { processor } = await openSquare(t, { apiBase });
    const request = chargeOf('cnon:paid');
    assert.equal((await processor.charge(request)).kind, 'unknown');
    const refund = { ...request, refundId: 'ref_', chargeId: 'unknown' };
    assert.equal((await processor.refund(refund)).kind, 'unknown');
    assert.equal((await processor.findRefund(refund)).kind, 'unknown');
  });
}

test('square: gives up in time on a reply that begins and does not end', async (t) => {
  const apiBase = await startGateway(t, (response) => response.writeHead(200).write('{"payment":'));
  const { processor } = await openSquare(t, { apiBase });
  await givesUpInTime(processor, chargeOf('cnon:paid', { timeoutMs: 200 }));
});

test('square: gives up in time while Square accepts requests and does not respond', async (t) => {
  const { square, processor } = await openSquare(t);
  square.switches.holds = true;
  await givesUpInTime(processor, chargeOf('cnon:paid', { timeoutMs: 200 }));
  const found = await processor.findCharge({ ...soughtOf(chargeOf('').paymentId), timeoutMs: 200 });
  assert.equal(found.kind, 'unknown');
});

test('square: knows which tokens are single-use', async (t) => {
  const { processor } = await openSquare(t);
  for (const token of [singleUseNonce, 'cnon:CBASEF667Xdo69NiVEeuHo_Hj3Q']) {
    assert.equal(processor.isSingleUse(token), true, token);
  }
  const named = ['cnon:card-nonce-ok', 'cnon:card-nonce-rejected-postalcode', 'cnon:gift-card-nonce-ok'];
  for (const token of [...named, 'ccof:customer-card-id-ok', 'ccof:GaJGNaZa8x4OgDJn4GB', 'cnon:paid']) {
    assert.equal(processor.isSingleUse(token), false, token);
  }
});

/** Callers get the message, and logs the detail; Square's own sentences begin with "Sent". */
function repeatsNothing(outcome: ChargeOutcome, ...sent: readonly string[]): void {
  const shown = JSON.stringify(outcome);
  for (const each of sent) assert.ok(!shown.includes(each), shown);
}

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
