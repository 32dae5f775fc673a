import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { stripeProcessor } from '../../src/processors/stripe/stripe.ts';
import { chargeOf, givesUpInTime, processorContract } from '../contracts/processor.ts';
import { refundContract } from '../contracts/processor-refunds.ts';
import { resendContract } from '../contracts/processor-resends.ts';
import { openStripe, stripeFixture, stripeResendFixture } from '../support/stripe/adapter.ts';
import { keyLifeMs } from '../support/stripe/keys.ts';
import { droppedLateAfterMs, singleUseToken } from '../support/stripe/scripted-stripe.ts';

processorContract('stripe', stripeFixture);
refundContract('stripe', stripeFixture);
resendContract('stripe', stripeResendFixture);

test('stripe: sends the documented request for a confirmed PaymentIntent', async (t) => {
  const { stripe, processor } = await openStripe(t);
  const request = chargeOf('tok_paid', { amount: 1_050, currency: 'EUR' });
  await processor.charge(request);
  const [method, intent, ...more] = stripe.requests;
  assert.ok(method !== undefined && intent !== undefined && more.length === 0);
  assert.equal(method.path, '/v1/payment_methods');
  assert.deepEqual(method.fields, { type: 'card', 'card[token]': 'tok_paid' });
  assert.equal(intent.path, '/v1/payment_intents');
  const { payment_method: paymentMethod, ...fields } = intent.fields;
  assert.match(paymentMethod ?? '', /^pm_/);
  assert.deepEqual(fields, {
    amount: '1050',
    currency: 'eur',
    'allowed_payment_method_types[0]': 'card',
    confirm: 'true',
    error_on_requires_action: 'true',
    'metadata[counterfoil_payment_id]': request.paymentId,
  });
  assert.equal(intent.headers['idempotency-key'], request.processorKey);
  assert.notEqual(method.headers['idempotency-key'], request.processorKey);
  for (const { headers } of stripe.requests) {
    assert.equal(headers['stripe-version'], '2026-10-28.endive');
    assert.equal(headers['x-stripe-client-telemetry'], undefined);
  }
});

test('stripe: sends no telemetry header about earlier requests', async (t) => {
  const { stripe, processor } = await openStripe(t);
  for (const _again of [1, 2, 3]) await processor.charge(chargeOf('tok_paid'));
  assert.equal(stripe.requests.length, 6);
  for (const { headers } of stripe.requests) assert.equal(headers['x-stripe-client-telemetry'], undefined);
});

test('stripe: charges an existing payment method without creating one', async (t) => {
  const { stripe, processor } = await openStripe(t);
  assert.equal((await processor.charge(chargeOf('pm_card_visa'))).kind, 'succeeded');
  assert.deepEqual(
    stripe.requests.map(({ path, fields }) => [path, fields.payment_method]),
    [['/v1/payment_intents', 'pm_card_visa']],
  );
});

test('stripe: rejects an unknown payment method, naming the token', async (t) => {
  const { processor } = await openStripe(t);
  const outcome = await processor.charge(chargeOf('pm_unknown'));
  assert.ok(outcome.kind === 'rejected');
  assert.equal(outcome.param, 'token');
});

test('stripe: knows which tokens are single-use', async (t) => {
  const { processor } = await openStripe(t);
  assert.equal(processor.isSingleUse(singleUseToken), true);
  const named = ['tok_visa', 'tok_mastercard_debit', 'tok_paid', 'tok_visa_chargeDeclined', 'pm_card_visa'];
  for (const token of [...named, 'tok_threeDSecure2Required']) {
    assert.equal(processor.isSingleUse(token), false, token);
  }
});

test('stripe: rejects a used token, and charges nothing', async (t) => {
  const { stripe, processor } = await openStripe(t);
  assert.equal((await processor.charge(chargeOf(singleUseToken))).kind, 'succeeded');
  const outcome = await processor.charge(chargeOf(singleUseToken));
  assert.ok(outcome.kind === 'rejected');
  assert.equal(outcome.param, 'token');
  assert.equal(stripe.charges.length, 1);
});

test('stripe: a decline without a decline code has its error code instead', async (t) => {
  const { processor } = await openStripe(t);
  const outcome = await processor.charge(chargeOf('tok_expired_card'));
  assert.partialDeepStrictEqual(outcome, {
    kind: 'declined',
    declineCode: 'expired_card',
    authenticationRequired: false,
  });
});

test('stripe: a card that Stripe declines before the charge is a decline', async (t) => {
  const { stripe, processor } = await openStripe(t);
  const outcome = await processor.charge(chargeOf('tok_method_declined'));
  assert.partialDeepStrictEqual(outcome, {
    kind: 'declined',
    declineCode: 'insufficient_funds',
    authenticationRequired: false,
  });
  assert.equal(stripe.requests.length, 1);
});

test('stripe: rejects an amount that Stripe does not accept, naming it', async (t) => {
  const { stripe, processor } = await openStripe(t);
  const outcome = await processor.charge(chargeOf('tok_amount_too_small'));
  assert.ok(outcome.kind === 'rejected');
  assert.equal(outcome.param, 'amount');
  assert.deepEqual(stripe.charges, []);
});

test('stripe: an API key that Stripe does not know charges nothing', async (t) => {
  const { stripe, processor } = await openStripe(t);
  const stranger = await stripeProcessor({
    key: 'sk_test_unknown',
    apiBase: stripe.origin,
    webhookSecrets: [],
  });
  assert.equal((await stranger.charge(chargeOf('tok_paid'))).kind, 'not_attempted');
  assert.equal((await processor.charge(chargeOf('tok_bad_key'))).kind, 'not_attempted');
  assert.deepEqual(stripe.charges, []);
});

/** Some replies prove nothing, and Stripe repeats those that it has stored. */
const provesNothing = [
  'tok_error_after_charging',
  'tok_error_after_declining',
  'tok_error_before_charging',
  'tok_error_while_confirming',
  'tok_dependency_failed',
  'tok_key_in_use',
  'tok_processing',
  'tok_cut_after_charging',
  'tok_declined_and_cut',
  'tok_malformed_after_charging',
];

for (const token of provesNothing) {
  test(`stripe: the outcome of a charge after ${token.slice(4).replaceAll('_', ' ')} is unknown`, async (t) => {
    const { processor } = await openStripe(t);
    const request = chargeOf(token);
    assert.equal((await processor.charge(request)).kind, 'unknown');
    assert.equal((await processor.charge(request)).kind, 'unknown', 'also when Stripe replays its reply');
  });
}

test('stripe: waits for a late reply until its timeout', async (t) => {
  const { stripe, processor } = await openStripe(t);
  const outcome = await processor.charge(chargeOf('tok_delayed'));
  assert.partialDeepStrictEqual(outcome, { kind: 'succeeded', chargeId: stripe.charges[0]?.chargeId });
});

test('stripe: the outcome of a charge that another request is processing is unknown', async (t) => {
  const { stripe, processor } = await openStripe(t);
  const request = chargeOf('tok_worked_on');
  const first = processor.charge(request);
  while (stripe.records().intents.length === 0) await sleep(10);
  assert.equal((await processor.charge(request)).kind, 'unknown');
  stripe.repair();
  const outcome = await first;
  assert.partialDeepStrictEqual(outcome, { kind: 'succeeded', chargeId: stripe.charges[0]?.chargeId });
  assert.partialDeepStrictEqual(await processor.charge(request), outcome);
  assert.equal(stripe.charges.length, 1);
});

test('stripe: declares a shorter key lifetime than Stripe, which charges again after its own', async (t) => {
  const { stripe, processor } = await openStripe(t);
  const request = chargeOf('tok_paid');
  await processor.charge(request);
  stripe.command({ set: { aheadMs: processor.keyLifeMs } });
  await processor.charge(request);
  assert.equal(stripe.charges.length, 1);
  stripe.command({ set: { aheadMs: keyLifeMs } });
  await processor.charge(request);
  assert.equal(stripe.charges.length, 2);
});

test('stripe: a 429 comes before the idempotency key, and a later request with the key gets the outcome', async (t) => {
  const { stripe, processor } = await openStripe(t);
  const request = chargeOf('pm_card_visa');
  const first = await processor.charge(request);
  stripe.turnsAway = true;
  assert.equal((await processor.charge(request)).kind, 'not_attempted');
  stripe.turnsAway = false;
  assert.deepEqual(await processor.charge(request), first);
});

test('stripe: the outcome of a charge whose key was used for another one is unknown', async (t) => {
  const { stripe, processor } = await openStripe(t);
  const request = chargeOf('pm_card_visa');
  await processor.charge(request);
  assert.equal((await processor.charge({ ...request, amount: request.amount + 1 })).kind, 'unknown');
  assert.equal(stripe.charges.length, 1);
});

for (const [ending, timeoutMs] of [
  ['error', 5_000],
  ['dropped', 5_000],
  ['cut', 5_000],
  ['never_replies', 200],
] as const) {
  test(`stripe: a first call that ends in ${ending.replace('_', ' ')} has charged nothing`, async (t) => {
    const { stripe, processor } = await openStripe(t);
    const outcome = await processor.charge(chargeOf(`tok_method_${ending}`, { timeoutMs }));
    assert.equal(outcome.kind, 'not_attempted');
    assert.ok(stripe.requests.every(({ path }) => path === '/v1/payment_methods'));
    assert.deepEqual(stripe.charges, []);
  });
}

test('stripe: gives up in time when the connection drops late and a second one never responds', async (t) => {
  const { processor } = await openStripe(t);
  await givesUpInTime(processor, chargeOf('pm_dropped_late', { timeoutMs: droppedLateAfterMs + 20 }));
});

/** https://docs.stripe.com/currencies#special-cases and #zero-decimal, where they differ from ISO 4217. */
const countedOtherwise = [
  { currency: 'ISK', iso: 500, stripe: '50000', why: 'no decimals in ISO 4217, two at Stripe' },
  { currency: 'UGX', iso: 500, stripe: '50000', why: 'no decimals in ISO 4217, two at Stripe' },
  { currency: 'MGA', iso: 50_000, stripe: '500', why: 'two decimals in ISO 4217, none at Stripe' },
];

for (const { currency, iso, stripe: expected, why } of countedOtherwise) {
  test(`stripe: charges the same amount in ${currency} (${why})`, async (t) => {
    const { stripe, processor } = await openStripe(t);
    await processor.charge(chargeOf('tok_paid', { currency, amount: iso }));
    assert.equal(stripe.requests.at(-1)?.fields.amount, expected);
  });
}

test('stripe: sends amounts unchanged where Stripe and ISO 4217 agree', async (t) => {
  const { stripe, processor } = await openStripe(t);
  for (const currency of ['EUR', 'JPY', 'KRW', 'BHD', 'HUF', 'TWD']) {
    await processor.charge(chargeOf('tok_paid', { currency, amount: 1_050 }));
    assert.equal(stripe.requests.at(-1)?.fields.amount, '1050', currency);
  }
});

for (const [what, token, kind] of [
  [
    'a single-use token is not attempted: a retry exchanges it for the same method',
    singleUseToken,
    'not_attempted',
  ],
  ['a reusable token is not attempted', 'tok_visa', 'not_attempted'],
] as const) {
  test(`stripe: 429 at the second call, ${what}`, async (t) => {
    const server = createServer((request, response) => {
      const isMethod = request.url === '/v1/payment_methods';
      const body = isMethod
        ? { id: 'pm_1' }
        : { error: { type: 'invalid_request_error', code: 'rate_limit' } };
      response.writeHead(isMethod ? 200 : 429, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => server.close().closeAllConnections());
    const apiBase = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const processor = await stripeProcessor({ key: 'sk_test_1', apiBase, webhookSecrets: [] });
    assert.equal((await processor.charge(chargeOf(token))).kind, kind);
  });
}
