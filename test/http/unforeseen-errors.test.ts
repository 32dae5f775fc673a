import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { pino } from 'pino';
import { openApp } from '../../src/http/server/app.ts';
import { Listener } from '../../src/http/server/listener.ts';
import { openLog } from '../../src/log.ts';
import { assertError } from '../support/http/error-response.ts';
import { exchange, type RawAnswer, RawConnection, requestText } from '../support/http/raw-http.ts';
import { unguarded } from '../support/http/unguarded.ts';
import { newDataFolder } from '../support/service.ts';

const secret = 'canary-in-an-exception';
const internal = { status: 500, code: 'internal' };

test('answers an exception in a handler as internal, and shows its message neither to the caller nor in the log', async (t) => {
  const error = Object.assign(new Error(secret, { cause: new Error(secret) }), {
    code: secret,
    statusCode: 418,
    headers: { 'x-canary': secret },
    body: secret,
  });
  const door = await openThrowingDoor(t, error);
  const answer = await door.ask();
  assertError(answer, internal);
  assert.equal(answer.json.body.error.retryable, false);
  const headers = [...answer.headers].flat().join();
  assert.ok(!`${answer.text}${headers}`.includes(secret), 'the caller is shown nothing of it');

  const logged = door.logged();
  assert.ok(!logged.includes(secret), 'the log holds nothing of the message');
  const line = logged.split('\n').find((text) => text.includes('"unforeseen_error"')) ?? '{}';
  assert.equal(JSON.parse(line).request_id, answer.json.body.error.request_id);
  assert.match(line, /unforeseen-errors\.test\.ts/, 'the log tells where it was thrown');
});

test('keeps lines of an exception’s message out of the log that look like stack frames', async (t) => {
  const door = await openThrowingDoor(t, new SyntaxError(`Unexpected token in "\n    at ${secret}"`));
  assertError(await door.ask(), internal);
  const logged = door.logged();
  assert.match(logged, /unforeseen-errors\.test\.ts/, 'the log tells where it was thrown');
  assert.ok(!logged.includes(secret), 'the log holds nothing of the message');
});

test('tells in the log where an error of a class of its own was thrown, and not its message', async (t) => {
  class CanaryError extends Error {
    override name = 'CanaryError';
  }
  const renamed = Object.assign(new TypeError(secret), { message: 'another message' });
  for (const thrown of [new CanaryError(secret), renamed]) {
    const door = await openThrowingDoor(t, thrown);
    assertError(await door.ask(), internal);
    const logged = door.logged();
    assert.ok(!logged.includes(secret), 'the log holds nothing of the message');
    assert.ok(logged.includes(`"error_name":"${thrown.name}"`));
    assert.match(logged, /at .*unforeseen-errors\.test\.ts/, 'the log tells where it was thrown');
  }
});

test('answers as internal what is thrown and is no Error', async (t) => {
  for (const thrown of [secret, 42, { message: secret, statusCode: 404 }, Object.freeze(new Error(secret))]) {
    const door = await openThrowingDoor(t, thrown);
    const answer = await door.ask();
    assertError(answer, internal);
    assert.ok(!`${answer.text}${door.logged()}`.includes(secret));
  }
});

test('answers as internal where nothing at all is thrown or rejected with', async (t) => {
  for (const thrown of [undefined, null]) {
    const door = await openThrowingDoor(t, thrown);
    assertError(await door.ask(), internal);
    assert.match(door.logged(), /"unforeseen_error"/);
  }
});

test('keeps the documented fields truthful beside an unforeseen error', async (t) => {
  const door = await openThrowingDoor(t, new Error(secret));
  const { body } = (await door.ask()).json;
  assert.deepEqual(body, { msg: body.error.message, complete: false, error: body.error });
});

test('serves on, on the same connection, after an exception', async (t) => {
  const door = await openThrowingDoor(t, new Error(secret));
  const connection = await RawConnection.open(door.origin);
  for (const path of ['/throws', '/throws', '/serves', '/throws', '/serves']) {
    connection.send(requestText(door.origin, `GET ${path}`));
    assert.equal((await connection.answer()).status, path === '/throws' ? 500 : 200);
  }
  connection.close();
});

interface ThrowingDoor {
  readonly origin: string;
  /** Asks for what throws. */
  ask(): Promise<RawAnswer>;
  logged(): string;
}

/** The door of the service with a route whose handler throws. */
async function openThrowingDoor(t: TestContext, thrown: unknown): Promise<ThrowingDoor> {
  const file = join(dirname(newDataFolder(t)), 'log');
  const listener = await Listener.listen({ host: '127.0.0.1', port: 0 });
  const door = await openApp(listener, {
    log: openLog('debug', pino.destination({ dest: file, sync: true })),
    ...unguarded,
    isStopping: () => false,
    routes: [
      (app) => {
        const besideError = (message: string) => ({ msg: message, complete: false });
        app.get('/throws', { config: { access: 'public', besideError } }, async () => {
          throw thrown;
        });
        app.get('/serves', { config: { access: 'public' } }, async () => 'served');
      },
    ],
  });
  t.after(async () => {
    await listener.stop();
    await door.close();
  });
  const { origin } = listener;
  return {
    origin,
    ask: () => exchange(origin, requestText(origin, 'GET /throws')),
    logged: () => readFileSync(file, 'utf8'),
  };
}
