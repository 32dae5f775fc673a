import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ProcessorCharge } from '../../src/processors/processor.ts';
import { chargeOf } from '../contracts/processor.ts';
import { overrunOf } from '../support/busy-machine.ts';
import { openStripe, type StripeWithAdapter, soughtNow } from '../support/stripe/adapter.ts';

const hourMs = 60 * 60 * 1_000;

/** The requests to one of Stripe's GET endpoints. */
function asked({ stripe }: StripeWithAdapter, path: string) {
  return stripe.requests.filter((request) => request.method === 'GET' && request.path === path);
}

test('stripe: finds a charge by the search, in one request', async (t) => {
  const opened = await openStripe(t);
  const { stripe, processor } = opened;
  const request = chargeOf('tok_paid');
  await processor.charge(request);
  const found = await processor.findCharge(soughtNow(request.paymentId));
  assert.partialDeepStrictEqual(found, { kind: 'succeeded', chargeId: stripe.charges[0]?.chargeId });
  const [search] = asked(opened, '/v1/payment_intents/search');
  assert.equal(search?.fields.query, `metadata['counterfoil_payment_id']:'${request.paymentId}'`);
  assert.equal(asked(opened, '/v1/payment_intents').length, 0);
});

for (const [why, set] of [
  ['the search does not have it yet', { searchLagMs: 60_000 }],
  ['the account has no search', { rejectsSearch: true }],
] as const) {
  test(`stripe: finds a charge in the list when ${why}, also on its last page`, async (t) => {
    const opened = await openStripe(t);
    const { stripe, processor } = opened;
    const request = chargeOf('tok_paid');
    await processor.charge(request);
    const [made] = stripe.charges;
    stripe.command({ set, othersCharge: 250 });
    const found = await processor.findCharge(soughtNow(request.paymentId));
    assert.partialDeepStrictEqual(found, { kind: 'succeeded', chargeId: made?.chargeId });
    assert.equal(asked(opened, '/v1/payment_intents').length, 3);
  });
}

test('stripe: finds a charge in the list although its clock and ours are four minutes apart', async (t) => {
  for (const aheadMs of [-240_000, 240_000]) {
    const { stripe, processor } = await openStripe(t);
    stripe.command({ set: { aheadMs, rejectsSearch: true } });
    const request = chargeOf('tok_paid');
    await processor.charge(request);
    assert.equal((await processor.findCharge(soughtNow(request.paymentId))).kind, 'succeeded');
  }
});

test('stripe: reports a charge as absent only after it has read the list to its end', async (t) => {
  const opened = await openStripe(t);
  const { stripe, processor } = opened;
  stripe.command({ othersCharge: 250 });
  const { paymentId } = chargeOf('tok_paid');
  assert.deepEqual(await processor.findCharge(soughtNow(paymentId)), { kind: 'absent' });
  assert.equal(asked(opened, '/v1/payment_intents').length, 3);

  stripe.command({ set: { failsLaterPages: true } });
  assert.equal((await processor.findCharge(soughtNow(paymentId))).kind, 'unknown');
});

test('stripe: does not report a charge as absent because the search does not find it', async (t) => {
  const { stripe, processor } = await openStripe(t);
  const request = chargeOf('tok_dropped_after_charging');
  assert.equal((await processor.charge(request)).kind, 'unknown');
  stripe.command({ set: { searchLagMs: hourMs } });
  assert.equal((await processor.findCharge(soughtNow(request.paymentId))).kind, 'succeeded');
});

test('stripe: finds that a charge was never made, however many others were made meanwhile', async (t) => {
  const { stripe, processor } = await openStripe(t);
  stripe.command({ othersCharge: 2_001 });
  const soughts = Array.from({ length: 20 }, () =>
    soughtNow(chargeOf('tok_paid').paymentId, { timeoutMs: 60_000 }),
  );
  const found = await Promise.all(soughts.map((sought) => processor.findCharge(sought)));
  assert.deepEqual(new Set(found.map(({ kind }) => kind)), new Set(['absent']));
  const pages = stripe.requests.filter(({ path }) => path === '/v1/payment_intents');
  assert.ok(pages.length <= 2 * 21, `${pages.length} pages for look-ups that can share one listing`);
});

test('stripe: the outcome of a charge whose look-up fails is unknown', async (t) => {
  const { stripe, processor } = await openStripe(t);
  const request = chargeOf('tok_paid');
  await processor.charge(request);
  stripe.turnsAway = true;
  assert.equal((await processor.findCharge(soughtNow(request.paymentId))).kind, 'unknown');
  stripe.turnsAway = false;
  stripe.holds = true;
  const sought = soughtNow(request.paymentId, { timeoutMs: 700 });
  const { result, overrunMs } = await overrunOf(() => processor.findCharge(sought), sought.timeoutMs);
  assert.equal(result.kind, 'unknown');
  assert.ok(overrunMs < 500, 'the timeout covers the search and the list together');
});

for (const token of ['tok_error_after_charging', 'tok_cut_after_charging', 'tok_malformed_after_charging']) {
  test(`stripe: finds the charge after ${token.slice(4).replaceAll('_', ' ')}`, async (t) => {
    const { stripe, processor } = await openStripe(t);
    const request = chargeOf(token);
    await processor.charge(request);
    await processor.charge(request);
    const found = await processor.findCharge(soughtNow(request.paymentId));
    assert.partialDeepStrictEqual(found, { kind: 'succeeded', chargeId: stripe.charges[0]?.chargeId });
    assert.equal(stripe.charges.length, 1);
  });
}

for (const token of ['tok_error_after_declining', 'tok_declined_and_dropped', 'tok_insufficient_funds']) {
  test(`stripe: finds the decline of ${token}`, async (t) => {
    const { stripe, processor } = await openStripe(t);
    const request = chargeOf(token);
    await processor.charge(request);
    assert.partialDeepStrictEqual(await processor.findCharge(soughtNow(request.paymentId)), {
      kind: 'declined',
      declineCode: 'insufficient_funds',
      authenticationRequired: false,
    });
    assert.deepEqual(stripe.charges, []);
  });
}

test('stripe: finds that the cardholder had to authenticate', async (t) => {
  const { processor } = await openStripe(t);
  const request = chargeOf('tok_authentication_required');
  await processor.charge(request);
  const found = await processor.findCharge(soughtNow(request.paymentId));
  assert.ok(found.kind === 'declined' && found.authenticationRequired);
});

for (const token of ['tok_error_before_charging', 'tok_amount_too_small', 'tok_method_declined']) {
  test(`stripe: finds no charge of ${token}, which made none`, async (t) => {
    const { processor } = await openStripe(t);
    const request = chargeOf(token);
    await processor.charge(request);
    assert.deepEqual(await processor.findCharge(soughtNow(request.paymentId)), { kind: 'absent' });
  });
}

for (const set of [{}, { rejectsSearch: true }]) {
  const way = 'rejectsSearch' in set ? 'the list' : 'the search';
  test(`stripe: does not report an undecided PaymentIntent as a decline, found by ${way}`, async (t) => {
    const { stripe, processor } = await openStripe(t);
    stripe.command({ set });
    const worked = chargeOf('tok_worked_on_then_declined');
    const first = processor.charge(worked);
    while (stripe.records().intents.length === 0) await sleep(10);
    const left = chargeOf('tok_error_while_confirming');
    const processing = chargeOf('tok_processing');
    await Promise.all([left, processing].map((request) => processor.charge(request)));
    for (const { paymentId } of [worked, left, processing]) {
      assert.equal((await processor.findCharge(soughtNow(paymentId))).kind, 'unknown');
    }
    stripe.repair();
    await first;
    const kinds = [worked, left, processing].map(async ({ paymentId }) => {
      return (await processor.findCharge(soughtNow(paymentId))).kind;
    });
    assert.partialDeepStrictEqual(await Promise.all(kinds), ['declined', 'unknown', 'succeeded']);
  });
}

test('stripe: lists every charge that moved money, page by page, in the units of ISO 4217', async (t) => {
  const { stripe, processor } = await openStripe(t);
  stripe.command({ othersCharge: 150 });
  const ours = chargeOf('tok_paid', { currency: 'ISK', amount: 500 });
  await processor.charge(ours);
  await processor.charge(chargeOf('tok_insufficient_funds'));
  stripe.command({ othersCharge: 60 });
  const listed = await charges({ stripe, processor });
  assert.equal(listed.length, 211);
  assert.equal(new Set(listed.map(({ chargeId }) => chargeId)).size, 211);
  const { chargeId } = stripe.charges[150] ?? {};
  assert.partialDeepStrictEqual(
    listed.filter(({ paymentId }) => paymentId !== undefined),
    [{ chargeId, paymentId: ours.paymentId, amount: 500, amountRefunded: 0, currency: 'ISK' }],
  );
});

test('stripe: rejects when the list of charges cannot be read to its end', async (t) => {
  const { stripe, processor } = await openStripe(t);
  stripe.command({ othersCharge: 150, set: { failsLaterPages: true } });
  await assert.rejects(charges({ stripe, processor }));
});

async function charges({ processor }: StripeWithAdapter): Promise<ProcessorCharge[]> {
  const now = Date.now();
  return Array.fromAsync(processor.charges({ from: now - hourMs, until: now + hourMs }));
}
