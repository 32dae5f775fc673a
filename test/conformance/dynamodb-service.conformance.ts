import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { MemoryLedger } from '../../src/processors/simulated/memory-ledger.ts';
import { givenUpMs } from '../support/busy-machine.ts';
import {
  dropReply,
  dropRequest,
  type Fault,
  type FaultProxy,
  throttled,
  unknownClient,
} from '../support/dynamodb/fault-proxy.ts';
import { faultyStore } from '../support/dynamodb/faulty-store.ts';
import { dynamoEnvironment } from '../support/dynamodb/stores.ts';
import { startLedger } from '../support/ledger/ledger-process.ts';
import { startTestService } from '../support/service.ts';

/** The responses of the service when the engine fails. */
const chargePath = '/stage/payment/simulated/charge';
const chargeBody = { amount: 1_050, currency: 'EUR', token: 'tok_paid' };
const key = { 'idempotency-key': 'order-1' };

test('returns table_not_found for a missing table, and for one that cannot exist', async (t) => {
  const { service } = await start(t);
  for (const table of ['books', 'counterfoil', 'x'.repeat(255)]) {
    const read = await service.get(`/v3/table/${table}/read`);
    const update = await service.send('PUT', `/v3/table/${table}/update`, { id: 'a', name: 'b' });
    for (const { status, json } of [read, update])
      assert.deepEqual([status, json.body.error.code], [404, 'table_not_found'], table);
  }
});

test('returns Retry-After while the engine throttles, and recovers by itself', async (t) => {
  const { service, proxy } = await start(t);
  await service.post('/v3/table/books/create', { id: 'a', name: 'Alpha' });
  proxy.script = () => throttled;
  for (const response of [
    await service.post('/v3/table/books/create', { id: 'b', name: 'Beta' }),
    await service.send('PUT', '/v3/table/books/update', { id: 'a', name: 'Alef' }),
    await service.get('/v3/table/books/read'),
    await service.post(chargePath, chargeBody),
  ]) {
    assert.deepEqual([response.status, response.json.body.error.code], [503, 'overloaded']);
    assert.ok(Number(response.headers.get('retry-after')) >= 1);
  }
  proxy.script = () => undefined;
  assert.deepEqual((await service.get('/v3/table/books/read')).json.body, [{ id: 'a', name: 'Alpha' }]);
});

test('reports a create whose reply is always lost as unconfirmed', async (t) => {
  const { service, proxy } = await start(t);
  await service.post('/v3/table/books/create', { id: 'a', name: 'Alpha' });
  proxy.script = ({ operation }) => (operation === 'PutItem' ? dropReply : undefined);
  const { status, json, headers } = await service.post('/v3/table/books/create', { id: 'b', name: 'Beta' });
  assert.deepEqual([status, json.body.complete, json.body.error.code], [503, false, 'unavailable']);
  assert.match(json.body.msg, /did not confirm this write in time/);
  assert.ok(headers.has('retry-after'));
});

test('closes the connection when a later page of a read fails, plain and compressed', async (t) => {
  const { service, proxy } = await start(t);
  // From the second time on, the table is read in segments, and one of them still has a second page.
  for (let n = 0; n < 16; n++)
    await service.post('/v3/table/books/create', { id: `item-${n}`, name: 'x'.repeat(300_000) });
  proxy.script = ({ operation, body }) =>
    operation === 'Scan' && body.ExclusiveStartKey !== undefined ? unknownClient : undefined;
  for (const coding of ['identity', 'gzip'])
    await assert.rejects(service.get('/v3/table/books/read', { 'accept-encoding': coding }), coding);
  proxy.script = () => unknownClient;
  const first = await service.get('/v3/table/books/read');
  assert.deepEqual([first.status, first.json.body.error.code], [503, 'unavailable']);
});

/** A charge has two commits: its reservation and its outcome. Only the reservation writes the idempotency key. */
const isReservation = (body: unknown) => JSON.stringify(body).includes('"payment-keys"');
const lost: Readonly<Record<string, { fault: Fault; isOfReservation: boolean }>> = {
  'the reply to its reservation is always lost': { fault: dropReply, isOfReservation: true },
  'its reservation is always lost': { fault: dropRequest, isOfReservation: true },
  'the reply to its outcome is always lost': { fault: dropReply, isOfReservation: false },
  'its outcome is always lost': { fault: dropRequest, isOfReservation: false },
};

for (const [what, { fault, isOfReservation }] of Object.entries(lost)) {
  test(`reports a charge as unknown when ${what}, and makes it once after the engine has recovered`, async (t) => {
    const ledger = new MemoryLedger();
    const { origin } = await startLedger(t, ledger);
    const { service, proxy } = await start(t, { COUNTERFOIL_SIMULATED_LEDGER: origin });
    loseCommits(proxy, fault, isOfReservation);
    const unknown = await service.post(chargePath, chargeBody, key);
    assert.deepEqual([unknown.status, unknown.json.body.error.code], [504, 'payment_outcome_unknown']);
    assert.ok(unknown.headers.get('location')?.startsWith(`${chargePath}/pay_`));
    assert.ok(unknown.headers.has('retry-after'));
    assert.equal(ledger.charges.length, isOfReservation ? 0 : 1);

    proxy.script = () => undefined;
    const again = await untilKnown(() => service.post(chargePath, chargeBody, key));
    assert.equal(again.json.body.message.message, 'Payment successful!', again.text);
    assert.equal(ledger.charges.length, 1);
    if (fault === dropReply) {
      const found = (await service.get(unknown.headers.get('location') as string)).json.body;
      assert.deepEqual(
        [found.status, found.charge_id],
        ['succeeded', again.json.body.message.charge_id],
        'the payment in Location is the one that was charged',
      );
    }
  });
}

function loseCommits(proxy: FaultProxy, fault: Fault, isOfReservation: boolean): void {
  proxy.script = ({ operation, body }) =>
    operation === 'TransactWriteItems' && isReservation(body) === isOfReservation ? fault : undefined;
}

/** Repeats a request until recovery, which runs every few seconds, has resolved the charge. */
async function untilKnown<A extends { readonly status: number }>(send: () => Promise<A>): Promise<A> {
  const giveUpAt = Date.now() + givenUpMs;
  for (;;) {
    const response = await send();
    if ((response.status !== 504 && response.status !== 409) || Date.now() > giveUpAt) return response;
    await sleep(100);
  }
}

async function start(t: TestContext, env: Record<string, string> = {}) {
  const { proxy, tablePrefix } = await faultyStore(t);
  const service = await startTestService(t, {
    env: { ...dynamoEnvironment(proxy.endpoint, tablePrefix), ...env },
    storeCallMsMax: 150,
  });
  return { service, proxy };
}
