import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Listener } from '../../src/http/server/listener.ts';
import { bodyOperations } from '../support/http/documented-operations.ts';

const starting = 'The service is starting.';

for (const { name, method, path, body, onFailure } of bodyOperations) {
  test(`while the service starts, the legacy error fields of ${name} report that nothing was done`, async (t) => {
    const reply = await ask(t, path, { method, body: JSON.stringify(body) });
    assert.equal(reply.status, 503);
    assert.equal(reply.headers.get('retry-after'), '1');
    const { error, ...documented } = reply.body;
    assert.deepEqual([error.code, error.message], ['unavailable', starting]);
    assert.deepEqual(documented, onFailure(starting));
  });
}

test('while the service starts, other operations return only the error', async (t) => {
  for (const path of ['/v3/service/auth', '/v3/create/service/auth/google/shop', '/nothing/here']) {
    const { status, body } = await ask(t, path);
    assert.equal(status, 503);
    assert.deepEqual(Object.keys(body), ['error'], path);
  }
});

async function ask(t: TestContext, path: string, init: RequestInit = {}) {
  const listener = await Listener.listen({ host: '127.0.0.1', port: 0 });
  t.after(() => listener.stop());
  const headers = { 'content-type': 'application/json', connection: 'close' };
  const response = await fetch(listener.origin + path, { ...init, headers });
  // biome-ignore lint/suspicious/noExplicitAny: tests read responses of every shape
  const { body } = (await response.json()) as { body: any };
  return { status: response.status, headers: response.headers, body };
}
