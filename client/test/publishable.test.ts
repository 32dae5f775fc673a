import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startServiceWithKeys } from '../../test/support/access/keys.ts';
import { Counterfoil } from '../src/index.ts';

const origin = 'https://shop.example';
const payment = { processor: 'simulated', amount: 1_050, currency: 'EUR', token: 'tok_lost_reply' } as const;

/** A client as in a page: its requests have the origin of the page. */
async function start(t: TestContext) {
  const shop = { kind: 'publishable', scopes: ['payments:create'], origins: [origin] } as const;
  const { service, keys } = await startServiceWithKeys(t, { shop });
  const sent: string[] = [];
  const client = new Counterfoil({
    url: service.origin,
    key: keys.shop,
    fetch: (url, init) => {
      sent.push(init.method ?? '');
      const headers = new Headers(init.headers);
      headers.set('origin', origin);
      return fetch(url, { ...init, headers });
    },
  });
  return { client, sent };
}

test('with a publishable key, reads the payment until its outcome is known, and repeats its request once', async (t) => {
  const { client, sent } = await start(t);
  const result = await client.pay(payment);
  assert.ok(result.status === 'succeeded');
  assert.match(result.chargeId, /^ch_simulated_/);
  assert.match(result.paymentId, /^pay_/);
  const [first, ...reads] = sent.slice(0, -1);
  assert.deepEqual([first, new Set(reads), sent.at(-1)], ['POST', new Set(['GET']), 'POST']);
});

test('an abort while it reads the payment gives an unknown outcome', async (t) => {
  const { client, sent } = await start(t);
  const controller = new AbortController();
  const paying = client.pay({ ...payment, signal: controller.signal });
  while (sent.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  setTimeout(() => controller.abort(), 300);
  const result = await paying;
  assert.deepEqual([result.status, 'reason' in result && result.reason], ['unknown', 'aborted']);
});

test('a page reads its payment with the client secret of the result, whatever the result', async (t) => {
  const { client, sent } = await start(t);
  for (const token of ['tok_paid', 'tok_card_declined', 'tok_lost_reply']) {
    const result = await client.pay({ ...payment, token });
    const { paymentId = '', clientSecret } = result;
    assert.match(clientSecret ?? '', /^pcs_/, result.status);
    const found = await client.payments.get({ processor: 'simulated', paymentId, clientSecret });
    assert.deepEqual([found.id, found.status], [paymentId, result.status]);
    const place = { processor: 'simulated', paymentId } as const;
    await assert.rejects(client.payments.get(place), { code: 'forbidden' });
    await assert.rejects(client.payments.get({ ...place, clientSecret: 'pcs_wrong' }), {
      code: 'unauthenticated',
    });
  }
  assert.ok(sent.length > 0);
});

test('after a challenge, the page has the outcome at its first look', async (t) => {
  const { client } = await start(t);
  const challenged = { ...payment, token: 'tok_requires_action', returnUrl: `${origin}/paid` } as const;
  const result = await client.pay(challenged);
  assert.ok(result.status === 'requires_action');
  const { paymentId, clientSecret, idempotencyKey, nextAction } = result;
  const form = {
    method: 'POST',
    body: new URLSearchParams({ decision: 'approve' }),
    redirect: 'manual',
  } as const;
  assert.equal((await fetch(nextAction.url, form)).status, 303);
  const found = await client.payments.get({ processor: 'simulated', paymentId, clientSecret });
  assert.equal(found.status, 'succeeded');
  assert.equal((await client.pay({ ...challenged, idempotencyKey })).status, 'succeeded');
});
