import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { MemoryLedger } from '../../src/processors/simulated/memory-ledger.ts';
import { dropReply, dropRequest } from '../../test/support/dynamodb/fault-proxy.ts';
import { faultyStore } from '../../test/support/dynamodb/faulty-store.ts';
import { dynamoEnvironment } from '../../test/support/dynamodb/stores.ts';
import { startLedger } from '../../test/support/ledger/ledger-process.ts';
import { startTestService } from '../../test/support/service.ts';
import { Counterfoil, type ReceivedResponse } from '../src/index.ts';

/** What the client makes of a store that does not confirm a write: only DynamoDB can do that. */
const payment = { processor: 'simulated', amount: 1_000, currency: 'EUR', token: 'tok_paid' } as const;

async function start(t: TestContext) {
  const ledger = new MemoryLedger();
  const { origin: ledgerOrigin } = await startLedger(t, ledger);
  // The service stops before its store: what is registered first ends first.
  let stop = async () => {};
  t.after(() => stop());
  const { proxy, tablePrefix } = await faultyStore(t);
  const service = await startTestService(t, {
    env: { ...dynamoEnvironment(proxy.endpoint, tablePrefix), COUNTERFOIL_SIMULATED_LEDGER: ledgerOrigin },
    storeCallMsMax: 1_000,
  });
  stop = service.stop;
  const responses: ReceivedResponse[] = [];
  const onResponse = (response: ReceivedResponse) => responses.push(response);
  return { ledger, proxy, responses, client: new Counterfoil({ url: service.origin, onResponse }) };
}

test('a create that the store did not confirm is sent once', async (t) => {
  const { proxy, responses, client } = await start(t);
  const books = client.table('books');
  await books.create({ id: 'a', name: '1' });
  proxy.script = ({ operation }) => (operation === 'PutItem' ? dropReply : undefined);
  responses.length = 0;
  await assert.rejects(books.create({ id: 'b', name: '2' }), { code: 'unavailable', status: 503 });
  assert.equal(responses.length, 1);
  proxy.script = () => undefined;
  assert.equal((await books.get('b'))?.name, '2', 'it was made');
});

for (const [what, fault, isMade] of [
  ['the reply to', dropReply, true],
  ['the request of', dropRequest, false],
] as const) {
  test(`pays and refunds once when ${what} each reservation is lost`, async (t) => {
    const { proxy, ledger, responses, client } = await start(t);
    // The store works again once the service has responded that the outcome is unknown.
    proxy.script = ({ operation }) =>
      operation === 'TransactWriteItems' && !responses.some(({ status }) => status === 504)
        ? fault
        : undefined;
    const paid = await client.pay(payment);
    assert.ok(paid.status === 'succeeded', JSON.stringify(paid));
    assert.equal(responses[0]?.status, 504);
    assert.deepEqual(
      ledger.charges.map(({ chargeId }) => chargeId),
      [paid.chargeId],
    );
    responses.length = 0;
    const refunded = await client.refund({ processor: 'simulated', paymentId: paid.paymentId, amount: 300 });
    assert.equal(refunded.status, 'succeeded', JSON.stringify(refunded));
    assert.equal(responses[0]?.status, 504);
    assert.deepEqual(
      ledger.refunds.map(({ amount }) => amount),
      [300],
    );
    const found = await client.payments.get({ processor: 'simulated', paymentId: paid.paymentId });
    assert.equal(found.amount_refunded, 300, `a reservation that was ${isMade ? '' : 'not '}made`);
  });
}
