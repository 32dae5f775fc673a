import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { runCommand } from '../support/command.ts';
import { chargeRequest, path, startWithStripe } from '../support/payments/stripe-service.ts';
import { deliveryOf, disputeOf, eventOf, post } from '../support/stripe/events.ts';
import type { Charge } from '../support/stripe/objects.ts';

const what = /disputed.*nothing was refunded.*respond to the dispute at the payment processor/i;

for (const status of ['needs_response', 'under_review', 'lost']) {
  test(`a refund of a charge whose dispute is ${status} is refused, with what to do`, async (t) => {
    const { refund, dispute, refundsAsked } = await start(t);
    await dispute(status);
    for (const amount of [undefined, 100]) {
      const refused = await refund(amount);
      assert.deepEqual([refused.status, refused.json.body.error.code], [400, 'invalid_request']);
      assert.match(refused.json.body.error.message, what);
      assert.equal(refused.json.body.error.retryable, false);
    }
    assert.equal(refundsAsked(), 0, 'Stripe was not called');
  });
}

for (const status of ['won', 'warning_needs_response']) {
  test(`a charge whose dispute is ${status} can be refunded`, async (t) => {
    const { refund, dispute } = await start(t);
    await dispute('needs_response');
    await dispute(status);
    assert.equal((await refund()).status, 200);
  });
}

test('a dispute that only Stripe knows is refused in the same words', async (t) => {
  const { refund, refundsAsked } = await start(t, 'tok_refund_rejected');
  const refused = await refund();
  assert.deepEqual([refused.status, refused.json.body.error.code], [400, 'invalid_request']);
  assert.match(refused.json.body.error.message, what);
  assert.equal(refundsAsked(), 1);
});

test('payments refund rejects a disputed charge with what to do', async (t) => {
  const { service, stripe, id, dispute } = await start(t);
  await dispute('needs_response');
  const { errors, status } = await runCommand(['payments', 'refund', id], {
    COUNTERFOIL_DATA: service.data,
    COUNTERFOIL_STRIPE_KEY: stripe.key,
    COUNTERFOIL_STRIPE_API_BASE: stripe.origin,
  });
  assert.equal(status, 2);
  assert.match(errors, what);
});

async function start(t: TestContext, token = 'tok_paid') {
  const started = await startWithStripe(t);
  const { service, stripe } = started;
  const paid = await service.post(path, { ...chargeRequest, token });
  assert.equal(paid.status, 200, paid.text);
  const at = paid.headers.get('location') ?? '';
  let seconds = 0;
  return {
    ...started,
    id: paid.headers.get('payment-id') ?? '',
    refund: (amount?: number) => service.post(`${at}/refund`, amount === undefined ? {} : { amount }),
    refundsAsked: () =>
      stripe.requests.filter(({ method, path: asked }) => method === 'POST' && asked === '/v1/refunds')
        .length,
    dispute: async (status: string) => {
      const disputed = disputeOf(stripe.records().charges[0] as Charge, { status });
      const created = disputed.created + ++seconds;
      const event = eventOf('charge.dispute.updated', { ...disputed, created });
      assert.equal(await post(`${service.origin}/stage/events/stripe`, deliveryOf(event)), 200);
    },
  };
}
