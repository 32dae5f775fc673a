import assert from 'node:assert/strict';
import { test } from 'node:test';
import { scopes } from '../../src/access/scopes.ts';
import { bearing, idWithin, startServiceWithKeys } from '../support/access/keys.ts';
import { writeSettings } from '../support/payments/settings-file.ts';
import { startTestService, type TestResponse } from '../support/service.ts';

const payments = '/stage/payment/simulated/charge';
const charge = { amount: 2_000, currency: 'EUR', token: 'tok_paid' };

/** What a key can change over HTTP, and the act that the audit trail then has. */
const acts: Readonly<Record<string, string>> = {
  'POST /stage/payment/:processor/:route_id/:payment_id/cancel': 'payment.canceled',
  'POST /stage/payment/:processor/:route_id/:payment_id/refund': 'payment.refunded',
  'DELETE /v3/table/:TABLE_NAME': 'table.dropped',
  'POST /v3/create/service/auth/:identity_provider/:INTEGRATION_NAME': 'integration.registered',
  'PUT /v3/service/auth/:identity_provider/:INTEGRATION_NAME': 'integration.replaced',
  'DELETE /v3/service/auth/:identity_provider/:INTEGRATION_NAME': 'integration.deleted',
  // Tried in test/console.
  'PUT /v3/service/auth/:identity_provider/:INTEGRATION_NAME/approval': 'integration.approved',
  'DELETE /v3/service/auth/:identity_provider/:INTEGRATION_NAME/approval': 'integration.approval_withdrawn',
  'POST /v3/keys': 'key.created',
  'POST /v3/keys/:key_id/rotate': 'key.rotated',
  'DELETE /v3/keys/:key_id': 'key.revoked',
  'POST /v3/backups': 'backup.requested',
  // Tried in test/backup and test/sign-in, where there are backups and people.
  'DELETE /v3/users/:user_id': 'user.deleted',
  'DELETE /v3/sessions': 'sessions.ended',
  'DELETE /v3/sessions/:session_id': 'sessions.ended',
};

/** What has no entry: a charge has a record of its own, and items are data. */
const without: readonly string[] = [
  // The payment is the record of the charge.
  'POST /stage/payment/:processor/:route_id',
  'POST /v3/table/:TABLE_NAME/create',
  'PUT /v3/table/:TABLE_NAME/update',
  'PUT /v3/table/:TABLE_NAME/put',
  'DELETE /v3/table/:TABLE_NAME/delete',
  'POST /v3/table/:TABLE_NAME/batch',
];

test('every route by which a key changes something is audited, or is known to need no entry', async (t) => {
  const { routes } = await startTestService(t);
  const changing = routes
    .filter(({ method, access }) => !/^(GET|HEAD|OPTIONS)$/.test(method) && scopes.includes(access as never))
    .map(({ method, url }) => `${method} ${url}`);
  assert.deepEqual(changing.toSorted(), [...Object.keys(acts), ...without].toSorted());
});

test('the audit trail has who changed what by a key, in one entry for each act', async (t) => {
  const file = writeSettings(t, {
    payments: { routes: { charge: { return_urls: ['https://shop.example'] } } },
  });
  const { service, keys } = await startServiceWithKeys(t, { admin: { scopes: ['admin'] } }, { file });
  const by = `key:${idWithin(keys.admin)}`;
  const as = (method: string, path: string, body?: unknown) =>
    service.send(method, path, body, bearing(keys.admin));
  /** Runs an act, and returns its one new entry. */
  const audited = async (run: Promise<TestResponse>, what: string, on: string) => {
    const response = await run;
    assert.equal(response.status, 200, response.text);
    const { body } = (await as('GET', '/v3/audit?limit=1')).json;
    const [{ id: _id, at: _at, ...entry }] = body;
    const request_id = response.headers.get('request-id');
    const { refund, ...rest } = entry;
    assert.deepEqual(rest, { what, on, by, request_id }, response.text);
    return { response, refund };
  };

  const paid = await as('POST', payments, charge);
  const id = paid.headers.get('payment-id') as string;
  const first = await audited(
    as('POST', `${payments}/${id}/refund`, { amount: 500 }),
    'payment.refunded',
    id,
  );
  const [one, rest] = [first.response.json.body.refund_id, await as('POST', `${payments}/${id}/refund`)];
  assert.deepEqual(first.refund, { id: one, amount: 500, currency: 'EUR' });
  const last = (await as('GET', '/v3/audit?limit=1')).json.body[0];
  assert.deepEqual(last.refund, { id: rest.json.body.refund_id, amount: 1_500, currency: 'EUR' }, 'the rest');

  const challenged = { ...charge, token: 'tok_requires_action', return_url: 'https://shop.example/paid' };
  const waiting = (await as('POST', payments, challenged)).headers.get('payment-id') as string;
  await audited(as('POST', `${payments}/${waiting}/cancel`), 'payment.canceled', waiting);
  await as('POST', '/v3/table/books/create', { id: 'emma', name: 'Jane Austen' });
  await audited(as('DELETE', '/v3/table/books'), 'table.dropped', 'books');
  const integration = '/v3/service/auth/google/web';
  const credentials = { GOOGLE_CLIENT_ID: 'web', GOOGLE_CLIENT_SECRET: 'first-secret' };
  await audited(
    as('POST', '/v3/create/service/auth/google/web', credentials),
    'integration.registered',
    'google/web',
  );
  const others = { ...credentials, GOOGLE_CLIENT_SECRET: 'second-secret' };
  await audited(as('PUT', integration, others), 'integration.replaced', 'google/web');
  await audited(as('DELETE', integration), 'integration.deleted', 'google/web');
  const made = (await as('POST', '/v3/keys', { name: 'made', scopes: ['tables:read'] })).json.body;
  assert.equal((await as('GET', '/v3/audit?limit=1')).json.body[0].what, 'key.created');
  const rotated = (await as('POST', `/v3/keys/${made.id}/rotate`, {})).json.body;
  assert.equal((await as('GET', '/v3/audit?limit=1')).json.body[0].what, 'key.rotated');
  await audited(as('DELETE', `/v3/keys/${rotated.id}`), 'key.revoked', rotated.id);
});

test('a repeated refund is in the audit trail once, and one that is rejected is not', async (t) => {
  const { service, keys } = await startServiceWithKeys(t, { admin: { scopes: ['admin'] } });
  const headers = { ...bearing(keys.admin), 'idempotency-key': 'return-1' };
  const id = (await service.post(payments, charge, bearing(keys.admin))).headers.get('payment-id');
  const refund = (amount: number, more: object = headers) =>
    service.post(`${payments}/${id}/refund`, { amount }, more as Record<string, string>);
  const responses = await Promise.all([refund(500), refund(500), refund(500)]);
  assert.deepEqual(
    responses.map(({ status }) => status),
    [200, 200, 200],
  );
  assert.equal((await refund(1_600, bearing(keys.admin))).status, 400);
  const trail = (await service.get('/v3/audit', bearing(keys.admin))).json.body;
  const refunded = trail.filter(({ what }: { what: string }) => what === 'payment.refunded');
  assert.deepEqual(
    refunded.map(({ refund: { amount } }: { refund: { amount: number } }) => amount),
    [500],
  );
});

test('a table that does not exist leaves no entry', async (t) => {
  const service = await startTestService(t);
  assert.equal((await service.send('DELETE', '/v3/table/books')).status, 404);
  const trail = (await service.get('/v3/audit')).json.body as { what: string }[];
  assert.ok(!trail.some(({ what }) => what === 'table.dropped'));
});
