import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ProcessorCharge } from '../../src/processors/processor.ts';
import { chargeOf } from '../contracts/processor.ts';
import { openSquare, soughtOf } from '../support/square/adapter.ts';

test('square: finds a payment on the third page of the list', async (t) => {
  const { square, processor } = await openSquare(t);
  square.switches.pageItems = 2;
  for (let others = 0; others < 4; others++) await processor.charge(chargeOf('cnon:paid'));
  const request = chargeOf('cnon:paid');
  const made = await processor.charge(request);
  const asked = square.requests.length;
  assert.deepEqual(await processor.findCharge(soughtOf(request.paymentId)), made);
  assert.equal(square.requests.length - asked, 3);
});

test('square: reports a payment as absent only when every page was read', async (t) => {
  const { square, processor } = await openSquare(t);
  square.switches.pageItems = 2;
  for (let others = 0; others < 5; others++) await processor.charge(chargeOf('cnon:paid'));
  const sought = soughtOf(chargeOf('').paymentId);
  assert.deepEqual(await processor.findCharge(sought), { kind: 'absent' });
  square.switches.failsFromPage = 3;
  assert.equal((await processor.findCharge(sought)).kind, 'unknown');
});

test('square: finds a payment that was missing from the list at first', async (t) => {
  const { square, processor } = await openSquare(t, { listLagMs: 400 });
  square.switches.listLagMs = 300;
  const request = chargeOf('cnon:dropped-after-charging', { timeoutMs: 1_000 });
  await processor.charge(request);
  const found = await processor.findCharge(soughtOf(request.paymentId));
  assert.partialDeepStrictEqual(found, { kind: 'succeeded', chargeId: square.charges[0]?.chargeId });
});

test('square: reads the list once for a payment that the list must contain by now', async (t) => {
  const { square, processor } = await openSquare(t, { listLagMs: 10_000 });
  const { paymentId, requestedFrom } = soughtOf(chargeOf('').paymentId);
  const sought = { paymentId, requestedFrom, requestedUntil: Date.now() - 11_000, timeoutMs: 5_000 };
  assert.deepEqual(await processor.findCharge(sought), { kind: 'absent' });
  assert.equal(square.requests.length, 1);
});

test('square: finds a successful attempt behind a failed one', async (t) => {
  const { square, processor } = await openSquare(t);
  const { paymentId } = chargeOf('');
  const errors = [{ category: 'PAYMENT_METHOD_ERROR', code: 'CVV_FAILURE' }];
  square.addPayment({ reference_id: paymentId, status: 'FAILED', card_details: { errors } });
  const sought = soughtOf(paymentId);
  const declined = { kind: 'declined', declineCode: 'cvv_failure', authenticationRequired: false };
  assert.partialDeepStrictEqual(await processor.findCharge(sought), declined);
  const chargeId = square.addPayment({ reference_id: paymentId });
  assert.partialDeepStrictEqual(await processor.findCharge(sought), { kind: 'succeeded', chargeId });
});

test('square: looks up charges at its own location', async (t) => {
  const { square, processor } = await openSquare(t, { locationId: 'LOTHER' });
  const request = chargeOf('cnon:paid');
  const made = await processor.charge(request);
  assert.deepEqual(await processor.findCharge(soughtOf(request.paymentId)), made);
  assert.equal(square.requests.at(-1)?.query.location_id, 'LOTHER');
});

test('square: lists charges of other systems too, and none that moved no money', async (t) => {
  const { square, processor } = await openSquare(t);
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
  assert.partialDeepStrictEqual(listed, [
    { chargeId: made.chargeId, paymentId: ours.paymentId, amount: 2_000, amountRefunded: 0, currency },
    { chargeId: theirs, paymentId: undefined, amount: 1_200, amountRefunded: 0, currency },
  ]);
});

test('square: rejects when its charges cannot be read to the end', async (t) => {
  const { square, processor } = await openSquare(t);
  square.switches.pageItems = 2;
  for (let others = 0; others < 3; others++) await processor.charge(chargeOf('cnon:paid'));
  square.switches.failsFromPage = 2;
  await assert.rejects(async () => {
    for await (const _charge of processor.charges({ from: 0, until: Date.now() + 1_000 }));
  });
});
