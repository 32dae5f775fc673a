import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { pino } from 'pino';
import { openApp } from '../../src/http/server/app.ts';
import { Listener } from '../../src/http/server/listener.ts';
import { openLog } from '../../src/log.ts';
import { assertError } from '../support/http/error-response.ts';
import { exchange, RawConnection, type RawResponse, requestText } from '../support/http/raw-http.ts';
import { unguarded } from '../support/http/unguarded.ts';
import { newDataFolder } from '../support/service.ts';

const secret = 'canary-in-an-exception';
const internal = { status: 500, code: 'internal' };

test('returns internal for an exception in a handler, and neither returns nor logs its message', async (t) => {
  const error = Object.assign(new Error(secret, { cause: new Error(secret) }), {
    code: secret,
    statusCode: 418,
    headers: { 'x-canary': secret },
    body: secret,
  });
  const app = await openThrowingApp(t, error);
  const response = await app.ask();
  assertError(response, internal);
  assert.equal(response.json.body.error.retryable, false);
  const headers = [...response.headers].flat().join();
  assert.ok(!`${response.text}${headers}`.includes(secret), 'the response has nothing of the message');

  const logged = app.logged();
  assert.ok(!logged.includes(secret), 'the log has nothing of the message');
  const line = logged.split('\n').find((text) => text.includes('"unforeseen_error"')) ?? '{}';
  assert.equal(JSON.parse(line).request_id, response.json.body.error.request_id);
  assert.match(line, /unforeseen-errors\.test\.ts/, 'the log has the place where it was thrown');
});

test('does not log lines of an exception’s message that look like stack frames', async (t) => {
  const app = await openThrowingApp(t, new SyntaxError(`Unexpected token in "\n    at ${secret}"`));
  assertError(await app.ask(), internal);
  const logged = app.logged();
  assert.match(logged, /unforeseen-errors\.test\.ts/, 'the log has the place where it was thrown');
  assert.ok(!logged.includes(secret), 'the log has nothing of the message');
});

test('logs where an error of another class was thrown, and not its message', async (t) => {
  class CanaryError extends Error {
    override name = 'CanaryError';
  }
  const renamed = Object.assign(new TypeError(secret), { message: 'another message' });
  for (const thrown of [new CanaryError(secret), renamed]) {
    const app = await openThrowingApp(t, thrown);
    assertError(await app.ask(), internal);
    const logged = app.logged();
    assert.ok(!logged.includes(secret), 'the log has nothing of the message');
    assert.ok(logged.includes(`"error_name":"${thrown.name}"`));
    assert.match(logged, /at .*unforeseen-errors\.test\.ts/, 'the log has the place where it was thrown');
  }
});

test('returns internal for a thrown value that is not an Error', async (t) => {
  for (const thrown of [secret, 42, { message: secret, statusCode: 404 }, Object.freeze(new Error(secret))]) {
    const app = await openThrowingApp(t, thrown);
    const response = await app.ask();
    assertError(response, internal);
    assert.ok(!`${response.text}${app.logged()}`.includes(secret));
  }
});

test('returns internal when undefined or null is thrown', async (t) => {
  for (const thrown of [undefined, null]) {
    const app = await openThrowingApp(t, thrown);
    assertError(await app.ask(), internal);
    assert.match(app.logged(), /"unforeseen_error"/);
  }
});

test('the legacy error fields are correct next to an unforeseen error', async (t) => {
  const app = await openThrowingApp(t, new Error(secret));
  const { body } = (await app.ask()).json;
  assert.deepEqual(body, { msg: body.error.message, complete: false, error: body.error });
});

test('serves the next request on the same connection after an exception', async (t) => {
  const app = await openThrowingApp(t, new Error(secret));
  const connection = await RawConnection.open(app.origin);
  for (const path of ['/throws', '/throws', '/serves', '/throws', '/serves']) {
    connection.send(requestText(app.origin, `GET ${path}`));
    assert.equal((await connection.response()).status, path === '/throws' ? 500 : 200);
  }
  connection.close();
});

interface ThrowingApp {
  readonly origin: string;
  /** Sends a request to the route that throws. */
  ask(): Promise<RawResponse>;
  logged(): string;
}

/** The app of the service with a route whose handler throws. */
async function openThrowingApp(t: TestContext, thrown: unknown): Promise<ThrowingApp> {
  const file = join(dirname(newDataFolder(t)), 'log');
  const listener = await Listener.listen({ host: '127.0.0.1', port: 0 });
  const app = await openApp(listener, {
    log: openLog('debug', pino.destination({ dest: file, sync: true })),
    ...unguarded,
    isStopping: () => false,
    routes: [
      (router) => {
        const legacyErrorFields = (message: string) => ({ msg: message, complete: false });
        router.get('/throws', { config: { access: 'public', legacyErrorFields } }, async () => {
          throw thrown;
        });
        router.get('/serves', { config: { access: 'public' } }, async () => 'served');
      },
    ],
  });
  t.after(async () => {
    await listener.stop();
    await app.close();
  });
  const { origin } = listener;
  return {
    origin,
    ask: () => exchange(origin, requestText(origin, 'GET /throws')),
    logged: () => readFileSync(file, 'utf8'),
  };
}
