import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { newDataFolder } from '../support/service.ts';
import { pairs, wordsOfPairs } from '../support/stripe/pairs.ts';
import { startStripeProcess } from '../support/stripe/process.ts';
import {
  type ScriptedStripe,
  singleUseTokenOf,
  startScriptedStripe,
} from '../support/stripe/scripted-stripe.ts';
import { wordOfToken } from '../support/stripe/scripts.ts';
import { tryToSend } from '../support/try-to-send.ts';

/** The drill of fault pairs relies on this file. Sends one request; undefined if its reply was lost. */
async function ask(origin: string, path: string, key: string, fields: Readonly<Record<string, string>>) {
  const response = await tryToSend(`${origin}/v1/${path}`, {
    method: 'POST',
    headers: {
      authorization: 'Bearer sk_test_scripted',
      'stripe-version': '2026-10-28.endive',
      'content-type': 'application/x-www-form-urlencoded',
      'idempotency-key': key,
    },
    body: new URLSearchParams(fields).toString(),
  });
  return response && { status: response.status, json: JSON.parse(response.text) };
}

const intent = { amount: '2000', currency: 'eur', confirm: 'true' };

/** The request that the word applies to, and the number of objects that such requests have made. */
async function requestOf(stripe: ScriptedStripe, word: string) {
  const call = pairs[word]?.pair.of;
  if (call === 'method') {
    const fields = { type: 'card', 'card[token]': singleUseTokenOf(word) };
    return { path: 'payment_methods', fields, made: () => 0 };
  }
  if (call === 'intent') {
    const fields = { ...intent, payment_method: `pm_${word}` };
    return { path: 'payment_intents', fields, made: () => stripe.charges.length };
  }
  const paid = await ask(stripe.origin, 'payment_intents', `paid ${word}`, {
    ...intent,
    payment_method: `pm_${word}`,
  });
  const fields = { charge: paid?.json.latest_charge, amount: '500' };
  return { path: 'refunds', fields, made: () => stripe.records().refunds.length };
}

test('scripted Stripe: loses the first reply of a pair, and rejects the key until it is repaired', async (t) => {
  for (const [word, { pair }] of Object.entries(pairs)) {
    const stripe = await startScriptedStripe(t);
    const { path, fields, made } = await requestOf(stripe, word);
    const send = () => ask(stripe.origin, path, 'one', fields);
    assert.equal(await send(), undefined, word);
    const done = pair.of === 'method' || pair.loss === 'reset before' ? 0 : 1;
    assert.equal(made(), done, word);
    for (const _again of [1, 2]) assert.equal((await send())?.status, pair.rejection.status, word);
    assert.equal(made(), done, word);
    stripe.repair();
    assert.equal((await send())?.status, 200, `${word}: a replay of the first reply, or a new one`);
    assert.equal(made(), pair.of === 'method' ? 0 : 1, word);
  }
});

test('scripted Stripe: another key starts the pair again', async (t) => {
  const stripe = await startScriptedStripe(t);
  const fields = { ...intent, payment_method: 'pm_reset_after_charging_then_429' };
  for (const key of ['one', 'two']) {
    assert.equal(await ask(stripe.origin, 'payment_intents', key, fields), undefined);
    assert.equal((await ask(stripe.origin, 'payment_intents', key, fields))?.status, 429);
  }
  assert.equal(stripe.charges.length, 2);
});

test('scripted Stripe: a request whose reply was lost uses up its token, and a lost request does not', async (t) => {
  const stripe = await startScriptedStripe(t);
  const statusOf = async (word: string) => {
    const fields = { type: 'card', 'card[token]': singleUseTokenOf(word) };
    await ask(stripe.origin, 'payment_methods', `first ${word}`, fields);
    return async () => (await ask(stripe.origin, 'payment_methods', `second ${word}`, fields))?.status;
  };
  const before = await statusOf('method_reset_before_then_429');
  const after = await statusOf('method_reset_after_then_429');
  stripe.repair();
  assert.deepEqual([await before(), await after()], [200, 400]);
});

test('scripted Stripe: remembers what has arrived when its process is killed', async (t) => {
  const stripe = await startStripeProcess(t, newDataFolder(t));
  const fields = { ...intent, payment_method: 'pm_reset_before_charging_then_403' };
  const key = randomBytes(8).toString('hex');
  assert.equal(await ask(stripe.origin, 'payment_intents', key, fields), undefined);
  await stripe.kill();
  await stripe.start();
  assert.equal((await ask(stripe.origin, 'payment_intents', key, fields))?.status, 403);
});

test('scripted Stripe: a single-use token can have every word', () => {
  for (const word of [
    'paid',
    ...['method', 'intent', 'refund'].flatMap((call) => wordsOfPairs(call as 'intent')),
  ]) {
    assert.equal(wordOfToken(singleUseTokenOf(word)), word);
  }
});
