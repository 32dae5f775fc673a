import assert from 'node:assert/strict';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { stripeProcessor } from '../../src/processors/stripe/stripe.ts';
import { chargeOf } from '../contracts/processor.ts';
import { newDataFolder } from '../support/service.ts';
import { soughtNow } from '../support/stripe/adapter.ts';
import { keyLifeMs } from '../support/stripe/keys.ts';
import { type StripeProcess, startStripeProcess } from '../support/stripe/process.ts';
import { chargesOf, singleUseToken, startScriptedStripe } from '../support/stripe/scripted-stripe.ts';

/** The tests of the service and of the adapter rely on this: the scripted Stripe behaves as Stripe does. */
type Fields = Readonly<Record<string, string>>;
type Requester = { readonly key?: string; readonly fields?: Fields; readonly method?: 'GET' | 'POST' };

/** Sends one request without Stripe's library. */
async function ask(origin: string, path: string, { key, fields = {}, method = 'POST' }: Requester) {
  const query = new URLSearchParams(fields).toString();
  const reply = await fetch(`${origin}/v1/${path}${method === 'GET' ? `?${query}` : ''}`, {
    method,
    headers: {
      authorization: 'Bearer sk_test_scripted',
      'stripe-version': '2026-10-28.endive',
      ...(method === 'POST' ? { 'content-type': 'application/x-www-form-urlencoded' } : {}),
      ...(key === undefined ? {} : { 'idempotency-key': key }),
    },
    ...(method === 'POST' ? { body: query } : {}),
  });
  const text = await reply.text();
  const isReplayed = reply.headers.get('idempotent-replayed') === 'true';
  return { status: reply.status, text, json: JSON.parse(text), isReplayed };
}

const request = { amount: '2000', currency: 'eur', confirm: 'true', payment_method: 'pm_paid' };

test('scripted Stripe: replays the first response to a key, failures included', async (t) => {
  const stripe = await startScriptedStripe(t);
  const words = { pm_paid: 200, pm_insufficient_funds: 402, pm_error_after_charging: 500 };
  for (const [method, status] of Object.entries(words)) {
    const sent = { key: method, fields: { ...request, payment_method: method } };
    const first = await ask(stripe.origin, 'payment_intents', sent);
    assert.deepEqual([first.status, first.isReplayed], [status, false]);
    stripe.repair();
    assert.deepEqual(await ask(stripe.origin, 'payment_intents', sent), { ...first, isReplayed: true });
  }
  assert.equal(stripe.charges.length, 2);
});

test('scripted Stripe: stores no response to a request that it rejected before processing', async (t) => {
  const stripe = await startScriptedStripe(t);
  stripe.turnsAway = true;
  const sent = { key: 'one', fields: request };
  assert.equal((await ask(stripe.origin, 'payment_intents', sent)).status, 429);
  stripe.turnsAway = false;
  const wrong = { key: 'one', fields: { ...request, amount: '0' } };
  assert.equal((await ask(stripe.origin, 'payment_intents', wrong)).status, 400);
  assert.equal((await ask(stripe.origin, 'payment_intents', { key: 'one' })).status, 400);
  assert.equal((await ask(stripe.origin, 'payment_intents', sent)).status, 200);
  stripe.turnsAway = true;
  assert.equal((await ask(stripe.origin, 'payment_intents', sent)).status, 429, 'also with a known key');
});

test('scripted Stripe: rejects a key that is used with other parameters, or on another path', async (t) => {
  const stripe = await startScriptedStripe(t);
  const { origin } = stripe;
  await ask(origin, 'payment_intents', { key: 'one', fields: request });
  const other = await ask(origin, 'payment_intents', { key: 'one', fields: { ...request, amount: '2001' } });
  const elsewhere = await ask(origin, 'refunds', { key: 'one', fields: request });
  for (const { status, json } of [other, elsewhere]) {
    assert.deepEqual([status, json.error.type], [400, 'idempotency_error']);
  }
  assert.equal(stripe.charges.length, 1);
});

test('scripted Stripe: rejects a key that is in use', async (t) => {
  const stripe = await startScriptedStripe(t);
  const sent = { key: 'one', fields: { ...request, payment_method: 'pm_worked_on' } };
  const first = ask(stripe.origin, 'payment_intents', sent);
  while (stripe.requests.length === 0) await new Promise(setImmediate);
  const second = await ask(stripe.origin, 'payment_intents', sent);
  assert.deepEqual([second.status, second.json.error.code], [409, 'idempotency_key_in_use']);
  stripe.repair();
  assert.equal((await first).json.status, 'succeeded');
  assert.equal((await ask(stripe.origin, 'payment_intents', sent)).isReplayed, true);
  assert.equal(stripe.charges.length, 1);
});

test('scripted Stripe: forgets a key after 24 hours, and then charges again', async (t) => {
  const stripe = await startScriptedStripe(t);
  const sent = { key: 'one', fields: request };
  const first = await ask(stripe.origin, 'payment_intents', sent);
  stripe.command({ set: { aheadMs: keyLifeMs - 60_000 } });
  assert.equal((await ask(stripe.origin, 'payment_intents', sent)).text, first.text);
  stripe.command({ set: { aheadMs: keyLifeMs } });
  assert.notEqual((await ask(stripe.origin, 'payment_intents', sent)).text, first.text);
  assert.equal(stripe.charges.length, 2);
});

test('scripted Stripe: rejects unknown parameters, and pages that are too long', async (t) => {
  const { origin } = await startScriptedStripe(t);
  const strange = await ask(origin, 'payment_intents', { fields: { ...request, paid: 'yes' } });
  assert.deepEqual([strange.status, strange.json.error.code], [400, 'parameter_unknown']);
  const long = await ask(origin, 'payment_intents', { method: 'GET', fields: { limit: '101' } });
  assert.equal(long.status, 400);
});

test('scripted Stripe: lists the objects of a period, newest first, page by page', async (t) => {
  const stripe = await startScriptedStripe(t);
  stripe.command({ othersCharge: 3 });
  const [first, second, third] = stripe.records().intents.map(({ id, created }) => ({ id, created }));
  assert.ok(first !== undefined && second !== undefined && third !== undefined);
  const list = async (fields: Fields) => {
    const { json } = await ask(stripe.origin, 'payment_intents', { method: 'GET', fields });
    return [json.data.map(({ id }: { id: string }) => id), json.has_more];
  };
  assert.deepEqual(await list({ limit: '2' }), [[third.id, second.id], true]);
  assert.deepEqual(await list({ limit: '2', starting_after: second.id }), [[first.id], false]);
  assert.deepEqual(await list({ 'created[gte]': String(third.created + 60) }), [[], false]);
  assert.deepEqual(await list({ 'created[lt]': String(first.created) }), [[], false]);
});

test('scripted Stripe: returns the PaymentIntent of a decline, with its failed charge', async (t) => {
  const stripe = await startScriptedStripe(t);
  const fields = { ...request, payment_method: 'pm_insufficient_funds' };
  const { json } = await ask(stripe.origin, 'payment_intents', { fields });
  assert.equal(json.error.payment_intent.status, 'requires_payment_method');
  assert.equal(json.error.payment_intent.last_payment_error.decline_code, 'insufficient_funds');
  assert.deepEqual(
    stripe.records().charges.map(({ id, status }) => [id, status]),
    [[json.error.charge, 'failed']],
  );
});

async function adapterOf({ key, origin }: StripeProcess) {
  return stripeProcessor({ key, apiBase: origin, webhookSecrets: [] });
}

test('scripted Stripe: remembers charges, keys and used tokens when its process is killed', async (t) => {
  const folder = newDataFolder(t);
  const stripe = await startStripeProcess(t, folder);
  const adapter = await adapterOf(stripe);
  const request = chargeOf(singleUseToken);
  const outcome = await adapter.charge(request);
  await stripe.kill();
  assert.equal((await adapter.charge(request)).kind, 'not_attempted', 'the process is gone');
  appendFileSync(join(folder, 'stripe.journal'), '["charges","ch_torn"');
  await stripe.start();
  assert.deepEqual(await adapter.charge(request), outcome);
  assert.deepEqual(await adapter.findCharge(soughtNow(request.paymentId)), outcome);
  assert.equal((await adapter.charge(chargeOf(singleUseToken))).kind, 'rejected');
  assert.equal(chargesOf(await stripe.records()).length, 1);
});

test('scripted Stripe: a request that a kill interrupted stays undecided', async (t) => {
  const stripe = await startStripeProcess(t, newDataFolder(t));
  const adapter = await adapterOf(stripe);
  const request = chargeOf('tok_worked_on');
  const first = adapter.charge(request);
  while ((await stripe.records()).intents.length === 0);
  await stripe.kill();
  assert.equal((await first).kind, 'unknown');
  await stripe.start();
  assert.equal((await adapter.charge(request)).kind, 'unknown');
  assert.equal((await adapter.findCharge(soughtNow(request.paymentId))).kind, 'unknown');
});

test('scripted Stripe: a test controls what its process does', async (t) => {
  const stripe = await startStripeProcess(t);
  const adapter = await adapterOf(stripe);
  await stripe.command({ set: { turnsAway: true } });
  assert.equal((await adapter.charge(chargeOf('tok_paid'))).kind, 'not_attempted');
  await stripe.command({ repair: true });
  assert.equal((await adapter.charge(chargeOf('tok_paid'))).kind, 'succeeded');
  const paths = (await stripe.requests()).map(({ path }) => path);
  assert.deepEqual(paths, ['/v1/payment_methods', '/v1/payment_methods', '/v1/payment_intents']);
});
