import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Delivery } from '../../src/processors/reports.ts';
import { openStripe } from '../support/stripe/adapter.ts';
import {
  deliveryOf,
  eventOf,
  signedWithWrongSecret,
  webhookSecret,
  withBitTurned,
} from '../support/stripe/events.ts';
import { created, intent } from '../support/stripe/samples.ts';

const signedAt = created * 1_000;
const paid = eventOf('payment_intent.succeeded', intent);

test('stripe: reads an event that Stripe has signed', async (t) => {
  const { processor } = await openStripe(t);
  assert.partialDeepStrictEqual(await processor.readEvent(deliveryOf(paid, { signedAt })), {
    kind: 'event',
    event: {
      id: paid.id,
      happenedAt: signedAt,
      change: {
        about: 'charge',
        paymentId: 'pay_1',
        outcome: { kind: 'succeeded', chargeId: 'ch_1' },
      },
    },
  });
});

test('stripe: cannot verify an event without a secret', async (t) => {
  const { processor } = await openStripe(t, []);
  assert.deepEqual(await processor.readEvent(deliveryOf(paid, { signedAt })), { kind: 'not_configured' });
});

test('stripe: accepts an event that any of its secrets signed, while one replaces another', async (t) => {
  const { processor } = await openStripe(t, ['whsec_new', webhookSecret]);
  const ways = [[webhookSecret], ['whsec_new'], ['whsec_new', webhookSecret], ['whsec_other', webhookSecret]];
  for (const secrets of ways) {
    assert.equal((await processor.readEvent(deliveryOf(paid, { secrets, signedAt }))).kind, 'event');
  }
  const { processor: rotated } = await openStripe(t, ['whsec_new']);
  assert.equal(
    (await rotated.readEvent(deliveryOf(paid, { signedAt }))).kind,
    'invalid_signature',
    'a removed secret is no longer valid',
  );
});

test('stripe: accepts an event for five minutes after its signature, and no longer', async (t) => {
  const { processor } = await openStripe(t);
  const after = (seconds: number) => deliveryOf(paid, { signedAt, receivedAt: signedAt + seconds * 1_000 });
  assert.equal((await processor.readEvent(after(300))).kind, 'event');
  assert.equal((await processor.readEvent(after(301))).kind, 'invalid_signature');
  assert.equal((await processor.readEvent(after(86_400))).kind, 'invalid_signature');
});

test('stripe: rejects an event with another signature, and one that was changed on its way', async (t) => {
  const { processor } = await openStripe(t);
  const good = deliveryOf(paid, { signedAt });
  const header = String(good.headers['stripe-signature']);
  const signedWith = (changed: string | undefined): Delivery => {
    const { 'stripe-signature': _signature, ...headers } = good.headers;
    return {
      ...good,
      headers: changed === undefined ? headers : { ...headers, 'stripe-signature': changed },
    };
  };
  const bad = {
    'of another signer': signedWithWrongSecret(paid),
    'with a changed time': signedWith(header.replace(/t=\d+/, `t=${created + 1}`)),
    'without a header': signedWith(undefined),
    'with an empty header': signedWith(''),
    'with an unreadable header': signedWith('none'),
    'without a time': signedWith(header.replace(/t=\d+,/, '')),
    'without a v1 signature': signedWith(header.replace(/v1=[0-9a-f]+,/, '')),
    'with an empty body': { ...good, body: Buffer.alloc(0) },
    'with a longer body': { ...good, body: Buffer.concat([good.body, Buffer.from(' ')]) },
  };
  for (const [why, delivery] of Object.entries(bad)) {
    assert.equal((await processor.readEvent(delivery)).kind, 'invalid_signature', why);
  }
  for (let at = 0; at < good.body.length; at++) {
    assert.equal(
      (await processor.readEvent(withBitTurned(good, at))).kind,
      'invalid_signature',
      `byte ${at}`,
    );
  }
  assert.equal((await processor.readEvent(good)).kind, 'event');
});

test('stripe: rejects a signed body that is not JSON', async (t) => {
  const { processor } = await openStripe(t);
  for (const text of ['', '{"id": "evt_1"', 'id=evt_1']) {
    assert.equal((await processor.readEvent(deliveryOf(text, { signedAt }))).kind, 'invalid_signature', text);
  }
});

test('stripe: a signed body of an unknown form is irrelevant, and its signature valid', async (t) => {
  const { processor } = await openStripe(t);
  const thin = { id: 'evt_1', object: 'v2.core.event', type: 'v1.billing.meter.no_meter_found' };
  const bare = { ...paid, data: { object: { id: 'pi_1' } } };
  const empty = { ...paid, data: {} };
  for (const signed of [null, 1, 'text', [], {}, thin, bare, empty]) {
    const reading = await processor.readEvent(deliveryOf(JSON.stringify(signed), { signedAt }));
    assert.deepEqual(reading, { kind: 'irrelevant' }, JSON.stringify(signed));
  }
});

test('stripe: reads the same event from every delivery of it', async (t) => {
  const { processor } = await openStripe(t);
  const first = await processor.readEvent(deliveryOf(paid, { signedAt }));
  const later = deliveryOf(paid, { signedAt: signedAt + 3_600_000 });
  assert.deepEqual(await processor.readEvent(later), first);
});

test('stripe: reveals no secret about an event that it rejects', async (t) => {
  const { processor } = await openStripe(t);
  const deliveries = [
    signedWithWrongSecret(paid),
    deliveryOf(paid, { signedAt, receivedAt: signedAt + 400_000 }),
    deliveryOf('{"id": "evt_secret"', { signedAt }),
  ];
  for (const delivery of deliveries) {
    const said = JSON.stringify(await processor.readEvent(delivery));
    const signature = /v1=([0-9a-f]+)/.exec(String(delivery.headers['stripe-signature']))?.[1] ?? '';
    for (const secret of [webhookSecret, signature, 'pay_1', 'evt_secret', 'v1=']) {
      assert.ok(signature !== '' && !said.includes(secret), said);
    }
  }
});
