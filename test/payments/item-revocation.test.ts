import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { MemoryLedger } from '../../src/processors/simulated/memory-ledger.ts';
import { startLedger } from '../support/ledger/ledger-process.ts';
import { idOf, Seats } from '../support/payments/seats.ts';
import { startTestService } from '../support/service.ts';

const seat = '12A';

test('a full refund deletes the item, and the next buyer can buy it', async (t) => {
  const seats = await Seats.start(t, { on_refund: 'delete' });
  const first = await seats.bought(seat);
  assert.equal((await seats.buy(seat)).status, 409);
  assert.equal((await seats.refund(first)).status, 200);
  assert.deepEqual([await seats.statusOf(first), await seats.nameOf(seat)], ['deleted', undefined]);
  const second = await seats.bought(seat);
  assert.deepEqual([await seats.statusOf(second), await seats.nameOf(seat)], ['made', idOf(second)]);
  assert.match(seats.service.logged(), /"payment_id":"pay_\w+","event":"item_deleted"/);
});

test('of several refunds, the one that returns the last of the amount deletes the item', async (t) => {
  const seats = await Seats.start(t, { on_refund: 'delete' });
  const at = await seats.bought(seat);
  assert.equal((await seats.refund(at, 1_999)).status, 200);
  assert.deepEqual([await seats.statusOf(at), await seats.nameOf(seat)], ['made', idOf(at)]);
  assert.equal((await seats.refund(at, 1)).status, 200);
  assert.deepEqual([await seats.statusOf(at), await seats.nameOf(seat)], ['deleted', undefined]);
});

test('concurrent partial refunds delete the item once', async (t) => {
  const seats = await Seats.start(t, { on_refund: 'delete' });
  for (let round = 0; round < 20; round++) {
    const at = await seats.bought(seat);
    const refunds = await Promise.all([500, 700, 800].map((amount) => seats.refund(at, amount)));
    assert.deepEqual(
      refunds.map(({ status }) => status),
      [200, 200, 200],
    );
    assert.deepEqual([await seats.statusOf(at), await seats.nameOf(seat)], ['deleted', undefined]);
  }
  assert.equal(seats.service.logged().match(/"event":"item_deleted"/g)?.length, 20);
});

for (const rules of [{}, { on_refund: 'keep' }, { on_dispute: 'delete' }] as const) {
  test(`a full refund keeps the item with the rules ${JSON.stringify(rules)}`, async (t) => {
    const seats = await Seats.start(t, rules);
    const at = await seats.bought(seat);
    assert.equal((await seats.refund(at)).status, 200);
    assert.deepEqual([await seats.statusOf(at), await seats.nameOf(seat)], ['made', idOf(at)]);
  });
}

test('a refund that is pending or rejected keeps the item', async (t) => {
  const seats = await Seats.start(t, { on_refund: 'delete' });
  const pending = await seats.bought('1', 'tok_refund_pending');
  assert.equal((await seats.refund(pending)).json.body.status, 'pending');
  const rejected = await seats.bought('2', 'tok_refund_rejected');
  assert.equal((await seats.refund(rejected)).status, 400);
  assert.deepEqual([await seats.statusOf(pending), await seats.statusOf(rejected)], ['made', 'made']);
  assert.deepEqual([await seats.nameOf('1'), await seats.nameOf('2')], [idOf(pending), idOf(rejected)]);
});

test('an item that was changed since is left alone, and the refund succeeds', async (t) => {
  const seats = await Seats.start(t, { on_refund: 'delete' });
  const at = await seats.bought(seat);
  await seats.service.send('PUT', '/v3/table/seats/update', { id: seat, name: 'kept for a guest' });
  const refunded = await seats.refund(at);
  assert.deepEqual([refunded.status, refunded.json.body.status], [200, 'succeeded']);
  const { item, amount_refunded: amountRefunded } = await seats.payment(at);
  assert.deepEqual([item.status, amountRefunded], ['not_deleted', 2_000]);
  assert.equal(await seats.nameOf(seat), 'kept for a guest');
  assert.match(seats.service.logged(), /"level":"warn".*"event":"item_not_deleted"/);
});

test('an item that an administrator deleted before counts as deleted, and its successor is left alone', async (t) => {
  const seats = await Seats.start(t, { on_refund: 'delete' });
  const remove = () => seats.service.send('DELETE', '/v3/table/seats/delete', { id: seat });
  const first = await seats.bought(seat);
  await remove();
  assert.equal((await seats.refund(first)).status, 200);
  assert.equal(await seats.statusOf(first), 'deleted');
  const second = await seats.bought(seat);
  await remove();
  const third = await seats.bought(seat);
  assert.equal((await seats.refund(second)).status, 200);
  assert.deepEqual([await seats.statusOf(second), await seats.nameOf(seat)], ['not_deleted', idOf(third)]);
});

test('a refund and an update at the same time: the item is deleted or updated, and the payment says which', async (t) => {
  const seats = await Seats.start(t, { on_refund: 'delete' });
  const seen = new Set<string>();
  // Any number of rounds is correct; more of them see both outcomes.
  for (let round = 0; round < 40; round++) {
    const id = `seat-${round}`;
    const at = await seats.bought(id);
    const refunding = seats.refund(at);
    const update = { id, name: 'updated' };
    if (round % 2 === 1) await new Promise((resolve) => setTimeout(resolve, round / 10));
    const updated = await seats.service.send('PUT', '/v3/table/seats/update', update);
    assert.equal((await refunding).status, 200);
    const status = await seats.statusOf(at);
    const expected = updated.status === 200 ? ['not_deleted', 'updated'] : ['deleted', undefined];
    assert.deepEqual([status, await seats.nameOf(id)], expected, updated.text);
    seen.add(status);
  }
  t.diagnostic(`seen: ${[...seen].join(', ')}`);
});

test('the validator of the table changes when a refund deletes an item', async (t) => {
  const seats = await Seats.start(t, { on_refund: 'delete' });
  const at = await seats.bought(seat);
  const { headers } = await seats.service.get('/v3/table/seats/read');
  const unless = { 'if-none-match': headers.get('etag') ?? '' };
  assert.equal((await seats.service.get('/v3/table/seats/read', unless)).status, 304);
  await seats.refund(at);
  const after = await seats.service.get('/v3/table/seats/read', unless);
  assert.deepEqual([after.status, after.json.body], [200, []]);
});

/** A ledger that outlives the service. */
async function lastingLedger(t: TestContext) {
  return { COUNTERFOIL_SIMULATED_LEDGER: (await startLedger(t, new MemoryLedger())).origin };
}

test('the rules are those of the time of the payment, whatever the settings say later', async (t) => {
  const env = await lastingLedger(t);
  const before = await Seats.start(t, { on_refund: 'delete' }, { env });
  const sold = await before.bought('1');
  await before.service.stop();
  const { data } = before.service;
  const after = await Seats.start(t, {}, { env, data });
  const kept = await after.bought('2');
  await after.refund(sold);
  await after.refund(kept);
  assert.deepEqual([await after.nameOf('1'), await after.nameOf('2')], [undefined, idOf(kept)]);
});

test('a table that is no longer declared keeps its items, and the refund succeeds', async (t) => {
  const ledger = await lastingLedger(t);
  const declared = (names: string) => ({
    ...ledger,
    COUNTERFOIL_TABLES: 'declared',
    COUNTERFOIL_DECLARED_TABLES: names,
  });
  const before = await Seats.start(t, { on_refund: 'delete' }, { env: declared('seats') });
  const at = await before.bought(seat);
  await before.service.stop();
  const { data } = before.service;
  const service = await startTestService(t, { data, env: declared('books') });
  const after = new Seats(service);
  assert.equal((await after.refund(at)).status, 200);
  assert.equal(await after.statusOf(at), 'not_deleted');
});
