import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { paymentsSpace } from '../../src/payments/payment.ts';
import { sealedTokens } from '../../src/payments/payment-store.ts';
import { givenUpMs } from '../support/busy-machine.ts';
import { assertError } from '../support/http/error-response.ts';
import { chargeRequest, path, paymentAfter, startWithStripe } from '../support/payments/stripe-service.ts';
import { openStoreOf } from '../support/service.ts';
import type { ScriptedStripe } from '../support/stripe/scripted-stripe.ts';

const email = 'ada.lovelace@example.org';
const details = {
  metadata: { order: 'A-7', 'gift.wrap': 'é€', empty: '' },
  description: 'Two posters, signed',
  statement_descriptor_suffix: 'POSTERS 2',
  receipt_email: email,
};
const key = { 'idempotency-key': 'order-7' };

/** The form fields of every request for a confirmed PaymentIntent, as text. */
function intentsRequested({ requests }: ScriptedStripe): string[] {
  return requests
    .filter(({ fields }) => fields.confirm === 'true')
    .map(({ fields }) => JSON.stringify(fields));
}

test('Stripe receives the metadata beside the payment id, and the details', async (t) => {
  const { service, stripe } = await startWithStripe(t);
  const paid = await service.post(path, { ...chargeRequest, ...details, token: 'tok_paid' });
  assert.equal(paid.status, 200, paid.text);
  assert.deepEqual(Object.keys(paid.json.body.message), ['message', 'charge_id'], 'the documented response');
  const sent = JSON.parse(intentsRequested(stripe)[0] ?? '');
  assert.equal(sent['metadata[order]'], 'A-7');
  assert.equal(sent['metadata[gift.wrap]'], 'é€');
  assert.equal('metadata[empty]' in sent, false, 'Stripe would take it for a key to remove');
  assert.equal(sent['metadata[counterfoil_payment_id]'], paid.headers.get('payment-id'));
  assert.equal(sent.description, details.description);
  assert.equal(sent.statement_descriptor_suffix, details.statement_descriptor_suffix);
  assert.equal(sent.receipt_email, email);
  const { json, text } = await service.get(paid.headers.get('location') ?? '');
  assert.deepEqual(json.body.metadata, details.metadata);
  assert.equal(json.body.description, details.description);
  assert.equal(json.body.statement_descriptor_suffix, details.statement_descriptor_suffix);
  assert.ok(!text.includes(email));
});

test('Stripe receives 49 keys of metadata, with the payment id as the fiftieth', async (t) => {
  const { service, stripe } = await startWithStripe(t);
  const metadata = Object.fromEntries(
    Array.from({ length: 49 }, (_, n) => [`${n}`.padEnd(40, 'k'), 'v'.repeat(500)]),
  );
  const paid = await service.post(path, { ...chargeRequest, metadata, token: 'tok_paid' });
  assert.equal(paid.status, 200, paid.text);
  const names = Object.keys(JSON.parse(intentsRequested(stripe)[0] ?? ''));
  assert.equal(names.filter((name) => name.startsWith('metadata[')).length, 50);
});

test('Stripe receives the route and a digest of the key, so that a restored store knows them, and never the key', async (t) => {
  const { service, stripe } = await startWithStripe(t);
  for (const headers of [key, {}]) {
    const { status } = await service.post(path, { ...chargeRequest, token: 'tok_paid' }, headers);
    assert.equal(status, 200);
  }
  const sent = intentsRequested(stripe).map((text) => JSON.parse(text)['metadata[counterfoil_request]']);
  assert.match(sent[0] ?? '', /^charge [\w-]{43}$/);
  assert.equal(sent[1], 'charge');
  assert.ok(!JSON.stringify(stripe.requests).includes(key['idempotency-key']));
});

test('recovery repeats the request of a charge with the same parameters, then erases the address', async (t) => {
  const { service, stripe } = await startWithStripe(t);
  const body = { ...chargeRequest, ...details, token: 'tok_error_before_charging' };
  const first = await service.post(path, body, key);
  assertError(first, { status: 504, code: 'payment_outcome_unknown' });
  const location = first.headers.get('location') ?? '';
  stripe.repair();
  await paymentAfter(service, location, ['calling']);
  const giveUpAt = Date.now() + givenUpMs;
  while (intentsRequested(stripe).length < 2) {
    assert.ok(Date.now() < giveUpAt, 'recovery does not repeat the request');
    await sleep(50);
  }
  assert.equal(new Set(intentsRequested(stripe)).size, 1, 'every request has the same parameters');
  await service.send('POST', `${location}/cancel`);
  await service.stop();
  assert.ok(!service.logged().includes(email), 'no log line has the address');
});

test('the address of a receipt is encrypted while the charge is open, and erased when it ends', async (t) => {
  const { service, stripe } = await startWithStripe(t);
  const body = { ...chargeRequest, ...details, token: 'tok_processing' };
  const open = await service.post(path, body, key);
  assertError(open, { status: 504, code: 'payment_outcome_unknown' });
  const stored = async (): Promise<string> => {
    const engine = await openStoreOf(service.data);
    try {
      const chunks = (await engine.scan(paymentsSpace))?.chunks ?? [];
      let text = '';
      for await (const chunk of chunks) text += chunk.toString();
      return text;
    } finally {
      await engine.close();
    }
  };
  assert.match(await stored(), /sealedReceiptEmail/);
  assert.ok(!(await stored()).includes(email));
  stripe.repair();
  const { status } = await paymentAfter(service, open.headers.get('location') ?? '', ['in_doubt']);
  assert.equal(status, 'succeeded');
  await service.stop();
  assert.doesNotMatch(await stored(), /sealedReceiptEmail|sealedToken|ada\.lovelace/);
  assert.ok(!service.logged().includes(email));
});

test('a rotation of the master key encrypts the addresses again, with the token', () => {
  const stored = {
    sealedToken: 'v2.a',
    sealedBuyerAddress: 'v2.c',
    details: { description: 'd', sealedReceiptEmail: 'v2.b' },
  };
  const fields: string[] = [];
  const text = sealedTokens.exchange('pay_1', JSON.stringify(stored), (sealed, { field }) => {
    fields.push(field);
    return `${sealed}.anew`;
  });
  assert.deepEqual(fields, ['token', 'buyer_address', 'receipt_email']);
  assert.deepEqual(JSON.parse(text), {
    sealedToken: 'v2.a.anew',
    sealedBuyerAddress: 'v2.c.anew',
    details: { description: 'd', sealedReceiptEmail: 'v2.b.anew' },
  });
});

test('the same key with other details is another request', async (t) => {
  const { service, stripe } = await startWithStripe(t);
  const body = { ...chargeRequest, ...details, token: 'tok_paid' };
  const first = await service.post(path, body, key);
  assert.equal(first.status, 200);
  for (const [param, value] of [
    ['description', 'Three posters'],
    ['description', undefined],
    ['statement_descriptor_suffix', 'POSTERS 3'],
    ['receipt_email', 'eve@example.org'],
    ['receipt_email', undefined],
  ] as const) {
    const other = await service.post(path, { ...body, [param]: value }, key);
    assertError(other, { status: 422, code: 'idempotency_key_reused', param });
  }
  const again = await service.post(path, body, key);
  assert.deepEqual([again.status, again.text], [200, first.text], 'also after the address is erased');
  assert.equal(stripe.charges.length, 1);
});

test('rejects details that a processor would reject, and whatever looks like a card number', async (t) => {
  const { service, stripe } = await startWithStripe(t);
  const card = '4242 4242 4242 4242';
  for (const [param, values] of Object.entries({
    description: ['', 'x'.repeat(501), 'two\nlines', 'bell\u0007', '\ud800', card, 7],
    statement_descriptor_suffix: [
      '',
      ...['12345', 'A'.repeat(23), 'A<B', 'A>B', 'A\\B', "A'B", 'A"B', 'A*B', 'CAFÉ', 'A\tB'],
      'A 4242424242424242',
      7,
    ],
    receipt_email: [
      ...['', 'ada', '@example.org', 'ada@', 'ada@localhost', 'ada@@example.org', 'a b@example.org'],
      ...['ada@example.org\r\nBcc: eve@example.org', 'ada@example..org', 'é@example.org', 'ada@exa_mple.org'],
      ...[`${'a'.repeat(65)}@example.org`, `ada@${'a'.repeat(190)}.org`, '4242424242424242@example.org', 7],
    ],
  })) {
    for (const value of values) {
      const rejected = await service.post(path, { ...chargeRequest, token: 'tok_paid', [param]: value });
      assertError(rejected, { status: 400, code: 'invalid_request', param });
      assert.ok(!rejected.text.includes('4242'), 'the response does not repeat the request');
    }
  }
  assert.deepEqual(stripe.requests, []);
});
