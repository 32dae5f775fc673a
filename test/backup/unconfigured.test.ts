import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertError } from '../support/http/error-response.ts';
import { startTestService } from '../support/service.ts';

const path = '/v3/backups';
const onLmdb = { skip: process.env.TEST_STORE === 'dynamodb' ? 'the embedded store only' : false };

test('without a target the report says so, and a backup is rejected', onLmdb, async (t) => {
  const { get, post } = await startTestService(t);
  const { body } = (await get(path)).json;
  assert.deepEqual(
    [body.store, body.target, body.schedule, body.continuous, body.total, body.backups],
    ['lmdb', null, null, null, null, []],
  );
  assertError(await post(path, {}), { status: 409, code: 'backups_not_configured' });
});
