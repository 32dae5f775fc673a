import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { CounterfoilError } from '../../client/src/index.ts';
import { Operator } from '../../client/src/operator.ts';
import { Reconciliations } from '../../src/payments/reconciliations.ts';
import type { ConnectedProcessor, ProcessorCharge } from '../../src/processors/processor.ts';
import type { LedgerCharge } from '../../src/processors/simulated/ledger.ts';
import { MemoryLedger } from '../../src/processors/simulated/memory-ledger.ts';
import { bearing, everyScope, startServiceWithKeys } from '../support/access/keys.ts';
import { assertError } from '../support/http/error-response.ts';
import { startLedger } from '../support/ledger/ledger-process.ts';
import { newDataFolder, openStoreOf, startTestService } from '../support/service.ts';

const path = '/v3/payments/reconciliation';
const sold = { amount: 1_050, currency: 'EUR', token: 'tok_paid' };

test('finds what the records of the processor have and ours do not, and the other way round; changes nothing', async (t) => {
  const { ledger, env } = await prepare(t);
  const service = await startTestService(t, { env });
  const pay = async () => {
    const { headers } = await service.post('/stage/payment/simulated/charge', sold);
    return headers.get('payment-id') as string;
  };
  const [same, other, gone] = [await pay(), await pay(), await pay()];
  await service.post('/stage/payment/simulated/charge', { ...sold, token: 'tok_insufficient_funds' });
  const { reconcile } = clientOf(service.origin);
  const before = await reconcile();
  assert.deepEqual(
    before.map(({ type }) => type),
    ['begin', 'end'],
  );
  assert.deepEqual(
    { ...before.at(-1), others: 0 },
    { type: 'end', payments: 4, charges: 3, others: 0, differences: 0, unfinished: null },
  );

  const charges = ledger.charges.map((charge) => ({ ...charge }));
  const chargeOf = (id: string) => charges.find(({ paymentId }) => paymentId === id) as LedgerCharge;
  const foreign = { ...chargeOf(same), paymentId: 'pay_0', chargeId: 'ch_lost' };
  ledger.records = async () => ({
    charges: [chargeOf(same), { ...chargeOf(other), amount: 999 }, foreign],
    refunds: [],
  });
  const lines = await reconcile();
  const difference = (payment_id: string, charge_id: string, route: string | null, difference: string) => ({
    ...{ type: 'difference', payment_id, charge_id, route, difference },
  });
  assert.deepEqual(lines.slice(1), [
    difference(
      other,
      chargeOf(other).chargeId,
      'charge',
      'has amount 1050 here and 999 in the processor’s records',
    ),
    difference('pay_0', 'ch_lost', null, 'is in the processor’s records but not among our payments'),
    difference(
      gone,
      chargeOf(gone).chargeId,
      'charge',
      'has succeeded but is not in the processor’s records',
    ),
    { type: 'end', payments: 4, charges: 3, others: 0, differences: 3, unfinished: null },
  ]);
  assert.deepEqual((await reconcile()).slice(1), lines.slice(1));
});

test('only an administrator compares them, and an invalid period or processor is an error response', async (t) => {
  const { service, keys } = await startServiceWithKeys(t, {
    admin: { scopes: ['admin'] },
    other: { scopes: everyScope },
  });
  const get = (query: string, key: string) => service.get(`${path}?${query}`, bearing(key));
  assertError(await service.get(`${path}?processor=simulated`), { status: 401, code: 'unauthenticated' });
  assertError(await get('processor=simulated', keys.other), { status: 403, code: 'forbidden' });
  const invalid = { status: 400, code: 'invalid_request' } as const;
  assertError(await get('', keys.admin), invalid);
  assertError(await get('processor=simulated&from=2026-13-01', keys.admin), { ...invalid, param: 'from' });
  assertError(await get('processor=simulated&until=now', keys.admin), { ...invalid, param: 'until' });
  const period = 'processor=simulated&from=2026-01-01';
  assertError(await get(`${period}&until=2026-01-01`, keys.admin), { ...invalid, param: 'from' });
  assertError(await get(`${period}&until=2026-02-03`, keys.admin), { ...invalid, param: 'from' });
  assert.equal((await get(`${period}&until=2026-02-02`, keys.admin)).status, 200);
  assertError(await get('processor=paypal', keys.admin), { status: 404, code: 'processor_not_found' });
  assertError(await get('processor=stripe', keys.admin), { status: 503, code: 'processor_not_configured' });
});

test('a response that has begun ends with the error, when the records cannot be read', async (t) => {
  const { ledger, env } = await prepare(t);
  const service = await startTestService(t, { env });
  ledger.records = async () => ({ kind: 'lost' }) as never;
  const response = await service.get(`${path}?processor=simulated`);
  assert.equal(response.headers.get('content-type'), 'application/x-ndjson');
  const lines = response.text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.deepEqual(
    lines.map(({ type }) => type),
    ['begin', 'error'],
  );
  assert.equal(lines[1].error.code, 'processor_error');
  assert.equal(lines[1].error.request_id, response.headers.get('request-id'));
  await assert.rejects(clientOf(service.origin).reconcile(), (error: CounterfoilError) => {
    return (
      error.code === 'processor_error' && error.message === 'The records of the processor cannot be read.'
    );
  });
  assert.ok(service.logged().includes(lines[1].error.request_id));
});

test('it ends at its limits, says so, and reads no further', async (t) => {
  const engine = await openStoreOf(newDataFolder(t));
  t.after(() => engine.close());
  let read = 0;
  async function* charges(): AsyncGenerator<ProcessorCharge> {
    for (; ; read++)
      yield {
        paymentId: `pay_${read}`,
        chargeId: `ch_${read}`,
        amount: 1,
        amountRefunded: 0,
        currency: 'EUR',
      };
  }
  async function* silent(): AsyncGenerator<ProcessorCharge> {
    await new Promise(() => undefined);
  }
  const period = { from: 0, until: 1_000 };
  const outcomeOf = async (of: typeof charges, bounds: ConstructorParameters<typeof Reconciliations>[1]) => {
    read = 0;
    const processor = { name: 'simulated', charges: of } as unknown as ConnectedProcessor;
    const processors = new Map([['simulated', processor]]);
    const reconciliation = new Reconciliations({ engine, processors }, bounds).begin('simulated', period);
    const { length } = await Array.fromAsync(reconciliation.differences());
    reconciliation.end();
    return [length, reconciliation.unfinished];
  };
  assert.deepEqual(await outcomeOf(charges, { reconciledDifferencesMax: 5 }), [
    5,
    'There are more differences; take a shorter period.',
  ]);
  assert.ok(read <= 6);
  assert.deepEqual(await outcomeOf(charges, { reconciledChargesMax: 7 }), [
    7,
    'The period has too many charges; take a shorter one.',
  ]);
  assert.ok(read <= 8);
  assert.deepEqual(await outcomeOf(silent, { reconciliationMsMax: 20 }), [
    0,
    'The time was over before everything was compared; take a shorter period.',
  ]);
});

async function prepare(t: TestContext) {
  const ledger = new MemoryLedger();
  const { origin } = await startLedger(t, ledger);
  return { ledger, env: { COUNTERFOIL_SIMULATED_LEDGER: origin } };
}

function clientOf(origin: string) {
  const client = new Operator({ url: origin });
  return { reconcile: () => Array.fromAsync(client.reconcile({ processor: 'simulated' })) };
}
