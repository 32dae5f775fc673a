import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Payment, paymentsSpace } from '../../src/payments/payment.ts';
import { givenUpMs } from '../support/busy-machine.ts';
import { idOf, type SeatRules, Seats, seatSettings } from '../support/payments/seats.ts';
import { writeSettings } from '../support/payments/settings-file.ts';
import { startWithStripe } from '../support/payments/stripe-service.ts';
import { newDataFolder, openStoreOf } from '../support/service.ts';
import { deliveryOf, disputeOf, eventOf, eventsOf, post } from '../support/stripe/events.ts';
import type { Charge } from '../support/stripe/objects.ts';

const seat = '12A';
const both: SeatRules = { on_refund: 'delete', on_dispute: 'delete' };

async function start(t: TestContext, rules: SeatRules, data = newDataFolder(t)) {
  const file = writeSettings(t, seatSettings(rules));
  const { stripe, service } = await startWithStripe(t, { file, data });
  const deliver = async (type: string, object: { readonly id: string; readonly created: number }) => {
    const event = eventOf(type, object);
    assert.equal(await post(`${service.origin}/stage/events/stripe`, deliveryOf(event)), 200, type);
  };
  const lastCharge = () => stripe.records().charges.at(-1) as Charge;
  return { stripe, service, deliver, lastCharge, seats: new Seats(service, 'stripe') };
}

/** A refund that was made in the dashboard. */
function refundOf({ id: charge, amount, created, payment_intent }: Charge, fields: object = {}) {
  const ids = { id: `re_of_${charge}`, charge, payment_intent };
  return {
    ...ids,
    object: 'refund',
    amount,
    currency: 'eur',
    created,
    status: 'succeeded',
    metadata: {},
    ...fields,
  };
}

test('refunds in the dashboard delete the item once they have returned the amount', async (t) => {
  const { seats, deliver, lastCharge } = await start(t, both);
  const at = await seats.bought(seat);
  const part = refundOf(lastCharge(), { id: 're_part', amount: 500 });
  const rest = refundOf(lastCharge(), { id: 're_rest', amount: 1_500 });
  await deliver('refund.created', part);
  await deliver('refund.created', { ...rest, status: 'pending' } as typeof rest);
  assert.deepEqual([await seats.statusOf(at), await seats.nameOf(seat)], ['made', idOf(at)]);
  await deliver('refund.updated', rest);
  assert.deepEqual([await seats.statusOf(at), await seats.nameOf(seat)], ['deleted', undefined]);
});

test('a refund that fails later does not make the item again, and the log calls an operator', async (t) => {
  // The items of both buyers are equal, so only the record of the first payment protects the second.
  const { seats, service, deliver, lastCharge } = await start(t, { ...both, name: 'metadata.seat' });
  const first = await seats.bought(seat);
  const refund = refundOf(lastCharge());
  await deliver('refund.created', refund);
  const second = await seats.bought(seat);
  await deliver('refund.failed', { ...refund, status: 'failed' } as typeof refund);
  const { item, amount_refunded: amountRefunded, refunds } = await seats.payment(first);
  assert.deepEqual([item.status, amountRefunded, refunds[0].status], ['deleted', 0, 'failed']);
  assert.match(service.logged(), /"level":"error".*"event":"refund_failed_after_item_deleted"/);
  // The money is returned again: the seat now belongs to another payment.
  assert.equal((await seats.refund(first)).status, 200);
  const statuses = [await seats.statusOf(first), await seats.statusOf(second)];
  assert.deepEqual([...statuses, await seats.nameOf(seat)], ['deleted', 'made', seat]);
});

test('a refund that a call and its events settle deletes the item once, and never the one of the next buyer', async (t) => {
  const { stripe, seats, service, deliver } = await start(t, both);
  const first = await seats.bought(seat, 'tok_refund_dropped');
  const key = { 'idempotency-key': 'refund-1' };
  const refunding = service.post(`${first}/refund`, {}, key);
  while (stripe.records().refunds.length === 0) await sleep(10);
  const events = () => eventsOf(stripe.records()).filter(({ type }) => type.startsWith('refund'));
  for (const { type, data } of events()) await deliver(type, data.object as Charge);
  const second = await seats.bought(seat);
  await refunding;
  stripe.repair();
  const giveUpAt = Date.now() + givenUpMs;
  while ((await service.post(`${first}/refund`, {}, key)).status !== 200) {
    assert.ok(Date.now() < giveUpAt, 'the refund has no outcome');
    await sleep(50);
  }
  for (const { type, data } of events()) await deliver(type, data.object as Charge);
  assert.deepEqual([await seats.statusOf(first), await seats.nameOf(seat)], ['deleted', idOf(second)]);
  assert.equal(service.logged().match(/"event":"item_deleted"/g)?.length, 1);
});

test('a charge in doubt that was refunded meanwhile makes no item, and frees the seat', async (t) => {
  const { stripe, seats, deliver, lastCharge } = await start(t, both);
  const lost = await seats.buy(seat, 'tok_dropped_after_charging');
  assert.equal(lost.status, 504);
  const at = lost.headers.get('location') ?? '';
  await deliver('refund.created', refundOf(lastCharge()));
  for (const { type, data } of eventsOf(stripe.records())) await deliver(type, data.object as Charge);
  const { status, item } = await seats.payment(at);
  assert.deepEqual([status, item.status, await seats.nameOf(seat)], ['succeeded', 'not_made', undefined]);
  await seats.bought(seat);
});

test('a success that overrides a decline makes the item, unless it has been refunded', async (t) => {
  const first = await start(t, both);
  const ids: string[] = [];
  for (const id of ['1', '2']) {
    const declined = await first.seats.buy(id, 'tok_insufficient_funds');
    ids.push(idOf(declined.headers.get('location') ?? ''));
  }
  await first.service.stop();
  const [due = '', revoked = ''] = ids;
  await asRefunded(first.service.data, revoked);
  const { seats, deliver } = await start(t, both, first.service.data);
  for (const id of ids) await deliver('payment_intent.succeeded', successOf(id));
  const statuses = await Promise.all(
    ids.map(async (id) => {
      const { status, item } = await seats.payment(`/stage/payment/stripe/charge/${id}`);
      return [status, item.status];
    }),
  );
  assert.deepEqual(statuses, [
    ['succeeded', 'made'],
    ['succeeded', 'not_made'],
  ]);
  assert.deepEqual([await seats.nameOf('1'), await seats.nameOf('2')], [due, undefined]);
  await seats.bought('2');
});

/** Stores a full refund in the record of a payment. */
async function asRefunded(data: string, id: string): Promise<void> {
  const engine = await openStoreOf(data);
  const payment = JSON.parse((await engine.get(paymentsSpace, id)) ?? '') as Payment;
  const refund = { id: 're_1', state: 'succeeded', amount: payment.amount, createdAt: payment.createdAt };
  const value = JSON.stringify({ ...payment, refunds: [refund] });
  await engine.commit([{ kind: 'replace', space: paymentsSpace, id, value }]);
  await engine.close();
}

/** A PaymentIntent of a payment that succeeded. */
function successOf(paymentId: string) {
  const created = Math.floor(Date.now() / 1_000);
  const intent = { id: `pi_${paymentId}`, object: 'payment_intent', created, status: 'succeeded' };
  const metadata = { counterfoil_payment_id: paymentId };
  return { ...intent, latest_charge: `ch_${paymentId}`, last_payment_error: null, metadata };
}

for (const status of ['needs_response', 'under_review', 'lost']) {
  test(`a dispute with the status ${status} deletes the item`, async (t) => {
    const { seats, deliver, lastCharge } = await start(t, { on_dispute: 'delete' });
    const at = await seats.bought(seat);
    await deliver('charge.dispute.created', disputeOf(lastCharge(), { status, amount: 1 }));
    assert.deepEqual([await seats.statusOf(at), await seats.nameOf(seat)], ['deleted', undefined]);
    assert.equal((await seats.payment(at)).disputes.length, 1);
  });
}

for (const status of [
  'warning_needs_response',
  'warning_under_review',
  'warning_closed',
  'won',
  'prevented',
]) {
  test(`a dispute with the status ${status} keeps the item`, async (t) => {
    const { seats, deliver, lastCharge } = await start(t, both);
    const at = await seats.bought(seat);
    await deliver('charge.dispute.updated', disputeOf(lastCharge(), { status }));
    assert.deepEqual([await seats.statusOf(at), await seats.nameOf(seat)], ['made', idOf(at)]);
  });
}

test('an inquiry that becomes a chargeback deletes the item, and winning it does not make the item again', async (t) => {
  const { seats, deliver, lastCharge } = await start(t, both);
  const at = await seats.bought(seat);
  const charge = lastCharge();
  const dispute = (status: string, after: number) =>
    disputeOf(charge, { status, created: charge.created + after });
  await deliver('charge.dispute.created', dispute('warning_needs_response', 0));
  assert.equal(await seats.statusOf(at), 'made');
  await deliver('charge.dispute.updated', dispute('needs_response', 1));
  assert.equal(await seats.statusOf(at), 'deleted');
  await deliver('charge.dispute.closed', dispute('won', 2));
  assert.deepEqual([await seats.statusOf(at), await seats.nameOf(seat)], ['deleted', undefined]);
});

test('an event of a dispute that arrives after it was won keeps the item', async (t) => {
  const { seats, deliver, lastCharge } = await start(t, both);
  const at = await seats.bought(seat);
  const charge = lastCharge();
  await deliver('charge.dispute.closed', disputeOf(charge, { status: 'won', created: charge.created + 9 }));
  await deliver('charge.dispute.created', disputeOf(charge, { status: 'needs_response' }));
  assert.deepEqual([await seats.statusOf(at), await seats.nameOf(seat)], ['made', idOf(at)]);
});

test('a dispute keeps the item without the rule', async (t) => {
  const { seats, deliver, lastCharge } = await start(t, { on_refund: 'delete' });
  const at = await seats.bought(seat);
  await deliver('charge.dispute.created', disputeOf(lastCharge()));
  assert.deepEqual([await seats.statusOf(at), await seats.nameOf(seat)], ['made', idOf(at)]);
});
