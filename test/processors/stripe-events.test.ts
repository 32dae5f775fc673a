import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ParsedEvent } from '../../src/processors/reports.ts';
import { chargeOf } from '../contracts/processor.ts';
import { openStripe, type StripeWithAdapter } from '../support/stripe/adapter.ts';
import { deliveryOf, disputeOf, eventOf, eventsOf, type StripeEvent } from '../support/stripe/events.ts';
import type { Intent, Refund } from '../support/stripe/objects.ts';
import { charge, created, intent, refund } from '../support/stripe/samples.ts';

const signedAt = created * 1_000;

/** Reads an event with a valid signature. */
async function read(processor: StripeWithAdapter['processor'], event: StripeEvent): Promise<ParsedEvent> {
  return processor.readEvent(deliveryOf(event, { signedAt }));
}

/** The change that each type of event reports, except the success of an intent. */
const declinedIntent: Intent = {
  ...intent,
  status: 'requires_payment_method',
  last_payment_error: { code: 'card_declined', decline_code: 'insufficient_funds' },
};
const declinedChange = {
  about: 'charge',
  paymentId: 'pay_1',
  outcome: { kind: 'declined', declineCode: 'insufficient_funds', authenticationRequired: false },
};
const refundChange = {
  about: 'refund',
  chargeId: 'ch_1',
  processorRefundId: 're_1',
  refundId: 'ref_1',
  amount: 500,
};
const dispute = disputeOf(
  { ...charge, amount: 500 },
  {
    id: 'dp_1',
    status: 'under_review',
    currency: 'mga',
  },
);
const disputeChange = {
  about: 'dispute',
  chargeId: 'ch_1',
  disputeId: 'dp_1',
  amount: 50_000,
  status: 'under_review',
  reason: 'fraudulent',
  isWithdrawn: true,
};

const failed: Refund = { ...refund, status: 'failed' };
const pending: Refund = { ...refund, status: 'pending' };
const canceled: Refund = { ...refund, status: 'canceled' };
const elsewhere: Refund = { ...refund, metadata: {} };
const changes = [
  ['payment_intent.payment_failed', declinedIntent, declinedChange],
  ['refund.created', pending, { ...refundChange, state: 'pending' }],
  ['refund.created', refund, { ...refundChange, state: 'succeeded' }],
  ['refund.updated', refund, { ...refundChange, state: 'succeeded' }],
  ['refund.updated', canceled, { ...refundChange, state: 'failed' }],
  ['refund.failed', failed, { ...refundChange, state: 'failed' }],
  ['charge.refund.updated', failed, { ...refundChange, state: 'failed' }],
  ['refund.created', elsewhere, { ...refundChange, refundId: undefined, state: 'succeeded' }],
  ['charge.dispute.created', dispute, disputeChange],
  ['charge.dispute.updated', dispute, disputeChange],
  ['charge.dispute.closed', dispute, disputeChange],
] as const;

for (const [type, object, change] of changes) {
  const what = 'status' in object ? object.status : '';
  test(`stripe: reads the change of ${type}, ${what}${object === elsewhere ? ', made elsewhere' : ''}`, async (t) => {
    const { processor } = await openStripe(t);
    const event = eventOf(type, object);
    assert.partialDeepStrictEqual(await read(processor, event), {
      kind: 'event',
      event: { id: event.id, happenedAt: signedAt, change },
    });
  });
}

test('stripe: ignores an event that concerns none of our payments, or decides none', async (t) => {
  const { processor } = await openStripe(t);
  const undecided: Intent = { ...intent, status: 'processing', latest_charge: null };
  const events = [
    eventOf('payment_intent.succeeded', { ...intent, metadata: {} } as Intent),
    eventOf('payment_intent.processing', undecided),
    eventOf('payment_intent.created', undecided),
    eventOf('charge.succeeded', charge),
    eventOf('charge.refunded', charge),
    eventOf('customer.created', { id: 'cus_1', created }),
  ];
  for (const event of events)
    assert.deepEqual(await read(processor, event), { kind: 'irrelevant' }, event.type);
});

test('stripe: reads the scripted Stripe’s events of a charge, a decline and a refund', async (t) => {
  const { stripe, processor } = await openStripe(t);
  const request = chargeOf('tok_refund_failed');
  const outcome = await processor.charge(request);
  assert.ok(outcome.kind === 'succeeded');
  await processor.charge(chargeOf('tok_insufficient_funds'));
  const { chargeId } = outcome;
  const asked = { ...request, chargeId, refundId: 'ref_1', processorKey: 'cf_refund' };
  await processor.refund(asked);
  const readings = eventsOf(stripe.records()).map((event) => processor.readEvent(deliveryOf(event)));
  const changes = (await Promise.all(readings)).map((reading) => {
    assert.ok(reading.kind === 'event');
    const { about, ...said } = reading.event.change;
    return [about, 'outcome' in said ? said.outcome.kind : 'state' in said ? said.state : said.status];
  });
  assert.partialDeepStrictEqual(changes, [
    ['charge', 'succeeded'],
    ['charge', 'declined'],
    ['refund', 'pending'],
    ['refund', 'failed'],
  ]);
});
