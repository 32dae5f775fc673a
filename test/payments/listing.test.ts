import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { writeSettings } from '../support/payments/settings-file.ts';
import { startTestService, type TestResponse, type TestService } from '../support/service.ts';

const path = '/stage/payment/simulated/charge';
const request = { amount: 2_000, currency: 'EUR', token: 'tok_paid' };

async function startWithTwoRoutes(t: TestContext): Promise<TestService> {
  const file = writeSettings(t, { payments: { routes: { charge: {}, donation: {} } } });
  return startTestService(t, { file });
}

function idOf(response: TestResponse): string {
  return response.headers.get('payment-id') ?? '';
}

test('lists the payments of a route in the order of their creation, page by page', async (t) => {
  const service = await startWithTwoRoutes(t);
  const made: string[] = [];
  for (let n = 0; n < 7; n++) {
    made.push(idOf(await service.post(path, { ...request, amount: 100 + n })));
    await service.post('/stage/payment/simulated/donation', request);
  }
  const listed: string[] = [];
  let after = '';
  for (let pages = 0; pages < 10; pages++) {
    const page = await service.get(`${path}?limit=3${after && `&after=${after}`}`);
    assert.equal(page.status, 200);
    listed.push(...page.json.body.map(({ id }: { id: string }) => id));
    if (page.json.next === undefined) break;
    after = page.json.next;
  }
  assert.deepEqual(listed, made);
});

test('lists payments created since a given time', async (t) => {
  let now = Date.parse('2026-03-01T10:00:00Z');
  const service = await startTestService(t, { now: () => now });
  const early = idOf(await service.post(path, request));
  now += 24 * 60 * 60 * 1_000;
  const late = idOf(await service.post(path, request));
  const ids = async (query: string) =>
    (await service.get(`${path}${query}`)).json.body.map(({ id }: { id: string }) => id);
  assert.deepEqual(await ids(''), [early, late]);
  assert.deepEqual(await ids('?since=2026-03-01'), [early, late]);
  assert.deepEqual(await ids('?since=2026-03-02T10:00:00Z'), [late]);
  assert.deepEqual(await ids('?since=2026-03-02T12:00:00%2B02:00'), [late]);
  assert.deepEqual(await ids('?since=2026-03-03'), []);
});

test('lists only the payments in one state, page by page', async (t) => {
  const service = await startTestService(t);
  const declined: string[] = [];
  for (let n = 0; n < 6; n++) {
    const token = n % 2 === 0 ? 'tok_paid' : 'tok_lost_card';
    const id = idOf(await service.post(path, { ...request, token }));
    if (n % 2 === 1) declined.push(id);
  }
  const first = (await service.get(`${path}?status=declined&limit=2`)).json;
  const rest = (await service.get(`${path}?status=declined&limit=2&after=${first.next}`)).json;
  const ids = [...first.body, ...rest.body].map(({ id }: { id: string }) => id);
  assert.deepEqual(ids, declined);
  assert.deepEqual((await service.get(`${path}?status=needs_review`)).json.body, []);
  assert.equal((await service.get(`${path}?status=lost`)).status, 400);
  assert.equal((await service.get(`${path}?status=declined&idempotency_key=x`)).status, 400);
});

test('finds the payment of a request whose response was lost, by its key', async (t) => {
  const service = await startWithTwoRoutes(t);
  const made = await service.post(
    path,
    { ...request, metadata: { order: '7' } },
    { 'idempotency-key': 'order 7' },
  );
  const found = await service.get(`${path}?idempotency_key=order%207`);
  assert.equal(found.status, 200);
  assert.deepEqual([found.json.body.id, found.json.body.metadata], [idOf(made), { order: '7' }]);
  for (const [at, key] of [
    [path, 'order 8'],
    ['/stage/payment/simulated/donation', 'order 7'],
  ] as const) {
    const none = await service.get(`${at}?idempotency_key=${encodeURIComponent(key)}`);
    assert.deepEqual([none.status, none.json.body.error.code], [404, 'payment_not_found'], key);
  }
});

const invalidQueries = [
  ['limit=0', 'limit'],
  ['limit=101', 'limit'],
  ['limit=x', 'limit'],
  ['since=yesterday', 'since'],
  ['since=2026-13-01', 'since'],
  ['since=2026-02-30', 'since'],
  ['idempotency_key=', 'idempotency_key'],
  ['idempotency_key=4242-4242-4242-4242', 'idempotency_key'],
  ['idempotency_key=a&limit=5', 'idempotency_key'],
  ['state=succeeded', 'state'],
] as const;

test('rejects a listing by an invalid query', async (t) => {
  const service = await startTestService(t);
  for (const [query, param] of invalidQueries) {
    const { status, json } = await service.get(`${path}?${query}`);
    const { code, param: named } = json.body.error;
    assert.deepEqual([status, code, named], [400, 'invalid_request', param], query);
  }
});
