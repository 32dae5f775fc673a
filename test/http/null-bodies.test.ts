import assert from 'node:assert/strict';
import { test } from 'node:test';
import { payment } from '../support/http/documented-operations.ts';
import { assertError } from '../support/http/error-response.ts';
import { startTestService } from '../support/service.ts';

/** JSON that is not an object. */
const notObjects = ['null', ' null ', 'false', '0', '""', '[]'];
const json = { 'content-type': 'application/json' };

test('a refund rejects a body that is not an object, and refunds the remainder without a body', async (t) => {
  const service = await startTestService(t);
  const paid = await service.post(payment.path, payment.body);
  const location = paid.headers.get('location') as string;
  for (const body of notObjects) {
    const response = await service.send('POST', `${location}/refund`, body, json);
    assertError(response, { status: 400, code: 'invalid_request' });
    const { amount_refunded: refunded, refunds } = (await service.get(location)).json.body;
    assert.deepEqual([refunded, refunds], [0, []], body);
  }
  const refunded = await service.send('POST', `${location}/refund`);
  assert.equal(refunded.status, 200, refunded.text);
  assert.equal((await service.get(location)).json.body.amount_refunded, payment.body.amount);
});

test('a sign-out rejects a body that is not an object', async (t) => {
  const service = await startTestService(t);
  for (const body of notObjects) {
    const response = await service.send('POST', '/v3/auth/sign-out', body, json);
    assertError(response, { status: 400, code: 'invalid_request' });
    assert.equal(response.headers.get('set-cookie'), null);
  }
  assert.equal((await service.send('POST', '/v3/auth/sign-out', '{}', json)).status, 200);
});
