import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create, payment, readPath } from '../support/http/documented-operations.ts';
import { assertError } from '../support/http/error-response.ts';
import { RawConnection, type RawResponse, requestText } from '../support/http/raw-http.ts';
import { startTestService, type TestService } from '../support/service.ts';

const bodies: Readonly<Record<string, string>> = {
  'the body of the published example': '{"":""}',
  'malformed JSON': '{"id":',
  'a body of 100 KB': 'x'.repeat(100_000),
  'a body larger than any operation takes': ' '.repeat(2_000_000),
  'a body that reads like a request': 'GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n',
};

const headings: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'as JSON': { 'Content-Type': 'application/json' },
  'without a type': {},
  'as text in latin1': { 'Content-Type': 'text/plain; charset=latin1' },
  'declared as compressed': { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' },
};

test('read ignores any body, and the connection serves the next request', async (t) => {
  const service = await startTestService(t);
  const { origin } = service;
  const plain = await readItem(service);
  for (const [what, body] of Object.entries(bodies)) {
    for (const [how, headers] of Object.entries(headings)) {
      await t.test(`${what}, ${how}`, async () => {
        await serves(service, plain, requestText(origin, `GET ${readPath}`, headers, body));
      });
      await t.test(`${what}, ${how}, in chunks`, async () => {
        const head = requestText(origin, `GET ${readPath}`, { ...headers, 'Transfer-Encoding': 'chunked' });
        const size = Buffer.byteLength(body).toString(16);
        await serves(service, plain, `${head}${size}\r\n${body}\r\n0\r\n\r\n`);
      });
    }
  }
});

test('read responds before its body has arrived, and discards the body', async (t) => {
  const service = await startTestService(t);
  const plain = await readItem(service);
  const connection = await RawConnection.open(service.origin);
  connection.send(
    requestText(service.origin, `GET ${readPath}`, {
      'Content-Type': 'application/json',
      'Content-Length': '7',
    }),
  );
  assert.equal((await connection.response()).text, plain);
  connection.send('{"":');
  connection.send(`""}${requestText(service.origin, 'GET /livez')}`);
  assertAlive(await connection.response());
  connection.close();
});

test('read returns the same error with a body', async (t) => {
  const service = await startTestService(t);
  const connection = await RawConnection.open(service.origin);
  connection.send(requestText(service.origin, `GET ${readPath}`, {}, '{"id":'));
  assertError(await connection.response(), { status: 404, code: 'table_not_found' });
  connection.send(requestText(service.origin, 'GET /livez'));
  assertAlive(await connection.response());
  connection.close();
});

test('returns the same payment to a GET with a body', async (t) => {
  const service = await startTestService(t);
  const paid = await service.post(payment.path, payment.body);
  const path = paid.headers.get('location') ?? '';
  const plain = await service.get(path);
  assert.equal(plain.json.body.status, 'succeeded');
  const json = { 'Content-Type': 'application/json' };
  await serves(service, plain.text, requestText(service.origin, `GET ${path}`, json, '{"":'));
});

async function readItem(service: TestService): Promise<string> {
  await service.post(create.path, create.body);
  const { text } = await service.get(readPath);
  assert.equal(text, '{"statusCode":200,"body":[{"id":"a","name":"Alpha"}]}');
  return text;
}

/** Sends a request, checks the response, and then sends another request on the same connection. */
async function serves(service: TestService, expected: string, request: string): Promise<void> {
  const connection = await RawConnection.open(service.origin);
  try {
    connection.send(request);
    const response = await connection.response();
    assert.equal(response.text, expected);
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('content-type'), 'application/json');
    connection.send(requestText(service.origin, 'GET /livez'));
    assertAlive(await connection.response());
  } finally {
    connection.close();
  }
}

function assertAlive(response: RawResponse): void {
  assert.equal(response.text, '{"statusCode":200,"body":{"status":"alive"}}');
}
