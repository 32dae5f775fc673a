import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { distantRecoveryIntervalMs } from '../../src/app/limits.ts';
import { Heartbeats } from '../../src/payments/ownership/heartbeat.ts';
import { openSpace } from '../../src/payments/ownership/marker.ts';
import type { Units } from '../support/dynamodb/fault-proxy.ts';
import { type FaultyStore, faultyStore } from '../support/dynamodb/faulty-store.ts';
import type { DynamoRequest } from '../support/dynamodb/request.ts';
import { dynamoEnvironment } from '../support/dynamodb/stores.ts';
import { startTestService, type TestResponse, type TestService } from '../support/service.ts';

/** No operation costs more than its row in docs/operating/dynamodb.md. */
const batchItems = 5;
const chargePath = '/stage/payment/simulated/charge';
const chargeBody = { amount: 1_050, currency: 'EUR', token: 'tok_paid' };
const read = '/v3/table/books/read';
const item = (id: string) => ({ id, name: 'a name of some length' });

/** The rows of the table, in the order in which they are measured; later ones use the data of earlier ones. */
const operations: Readonly<
  Record<
    string,
    (service: TestService, store: FaultyStore) => Promise<Partial<TestResponse> & { units?: Units }>
  >
> = {
  'create an item': (service) => service.post('/v3/table/books/create', item('a')),
  'update an item': (service) => service.send('PUT', '/v3/table/books/update', item('a')),
  'update an item with `If-Match`': (service) =>
    service.send('PUT', '/v3/table/books/update', { ...item('a'), name: 'new' }, { 'if-match': '*' }),
  'put an item': (service) => service.send('PUT', '/v3/table/books/put', item('a')),
  'read one item': (service) => service.get(`${read}?id=a`),
  'delete an item': (service) => service.send('DELETE', '/v3/table/books/delete', { id: 'a' }),
  'batch of 5 writes': (service) => {
    const writes = Array.from({ length: batchItems }, (_, n) => ({ create: item(`b-${n}`) }));
    return service.post('/v3/table/books/batch', { writes });
  },
  'read a page of 4 small items': (service) => service.get(`${read}?limit=4`),
  'read a table of 1 MB': async (service) => {
    const response = await service.get('/v3/table/large/read');
    assert.ok(response.text.length > 1_000_000);
    return response;
  },
  'charge that is declined': (service) =>
    service.post(chargePath, { ...chargeBody, token: 'tok_card_declined' }),
  'charge with an idempotency key': (service) =>
    service.post(chargePath, chargeBody, { 'idempotency-key': '1' }),
  'the same request again': (service) => service.post(chargePath, chargeBody, { 'idempotency-key': '1' }),
  'the same request once more, in the same process': (service) =>
    service.post(chargePath, chargeBody, { 'idempotency-key': '1' }),
  'charge without a key': (service) => service.post(chargePath, chargeBody),
  'read a payment': (service) => service.get(location),
  'find a payment by its key': (service) => service.get(`${chargePath}?idempotency_key=1`),
  'list 10 payments': (service) => service.get(`${chargePath}?limit=10`),
  'refund a payment': (service) => service.post(`${location}/refund`, {}),
  'register an integration': (service) =>
    service.post('/v3/create/service/auth/google/web', { IDP_CLIENT_ID: 'c', IDP_CLIENT_SECRET: 's' }),
  'a minute of a process that has nothing to do': async (_, { calm, proxy }) => {
    const heartbeats = new Heartbeats(calm);
    await heartbeats.watch();
    await calm.scan(openSpace);
    const rounds = 60_000 / distantRecoveryIntervalMs;
    return { status: 200, units: { read: proxy.units.read * rounds, write: proxy.units.write * rounds } };
  },
};
let location = '';

test('consumes no more DynamoDB capacity for an operation than its row says', async (t) => {
  const store = await faultyStore(t, ['books', 'large']);
  for (let n = 0; n < 10; n++) {
    const value = 'x'.repeat(104_000);
    await store.direct.commit([
      { kind: 'create', space: 'table:large', id: `i-${n}`, value, makeSpace: true },
    ]);
  }
  const rows = rowsOf(readFileSync('docs/operating/dynamodb.md', 'utf8'));
  assert.deepEqual([...rows.keys()].sort(), Object.keys(operations).sort(), 'every row is measured');

  const env = {
    ...dynamoEnvironment(store.proxy.endpoint, store.tablePrefix),
    COUNTERFOIL_MASTER_KEY: randomBytes(32).toString('base64'),
  };
  const service = await startTestService(t, { env });
  // From the second charge on, the process knows that the store has the account.
  for (const token of ['tok_paid', 'tok_paid']) await service.post(chargePath, { ...chargeBody, token });
  for (const [name, operation] of Object.entries(operations)) {
    await t.test(name, async (row) => {
      // The background reads of a service have a row of their own.
      store.proxy.isMetered = (request) =>
        !isOfAccess(request) && (name.startsWith('a minute') || !isInBackground(request));
      store.proxy.reset();
      const { status, headers, units: own } = await operation(service, store);
      assert.ok(status === 200 || status === 402, `status ${status}`);
      location = headers?.get('location') ?? location;
      const { read, write } = own ?? store.proxy.units;
      row.diagnostic(`${name}: ${read} read, ${write} write`);
      const most = rows.get(name) as Units;
      assert.ok(read <= most.read, `${read} read units, its row says ${most.read}`);
      assert.ok(write <= most.write, `${write} write units, its row says ${most.write}`);
    });
  }
});

/**
 * Whether the request belongs to recovery, which also looks once whether the store was restored, to the heartbeats of charge owners,
 * or to the removal of expired records.
 */
function isInBackground({ operation, body }: DynamoRequest): boolean {
  const text = JSON.stringify(body);
  if (operation !== 'Query') return /"(heartbeats|restored)"/.test(text);
  return !/"payments#\d+"/.test(text);
}

/** Whether the request checks if an API key has changed. */
function isOfAccess({ body }: DynamoRequest): boolean {
  return /"(access|api-keys)"/.test(JSON.stringify(body));
}

/** The rows of the section "What each operation costs": operation, read units, write units. */
function rowsOf(text: string): Map<string, Units> {
  const section = text.split('## What each operation costs')[1]?.split('\n## ')[0] ?? '';
  const rows = section.matchAll(/^\| ([^|]+?) \| ([\d.]+) \| ([\d.]+) \|/gm);
  return new Map(
    [...rows].map(([, name, read, write]) => [name as string, { read: Number(read), write: Number(write) }]),
  );
}
