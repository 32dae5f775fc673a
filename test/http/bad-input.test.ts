import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openLmdbEngine } from '../../src/storage/lmdb/open.ts';
import {
  type BodyOperation,
  bodyOperations,
  create,
  integration,
  payment,
  update,
} from '../support/http/documented-operations.ts';
import { assertError } from '../support/http/error-response.ts';
import { startTestService, type TestService } from '../support/service.ts';

const cardNumber = '4242424242424242';
const spacedCardNumber = '4242 4242 4242 4242';
const hyphenedCardNumber = '4242-4242-4242-4242';
const tokenCanary = 'tok_canary_7c1f0e';
const secretCanary = 'client-secret-canary-9b3d';
/** Values that no response, log or stored record may hold. */
const canaries = [cardNumber, spacedCardNumber, hyphenedCardNumber, tokenCanary, secretCanary];

/** Bodies with the canaries, to detect an error that logs, stores or repeats a value. */
const bodies: Readonly<Record<BodyOperation['name'], Readonly<Record<string, unknown>>>> = {
  create: create.body,
  update: update.body,
  payment: { ...payment.body, token: tokenCanary },
  integration: { ...integration.body, IDP_CLIENT_SECRET: secretCanary },
};
const createPath = '/v3/table/rejected/create';

interface BadField {
  readonly operation: BodyOperation;
  readonly field: string;
  readonly what: string;
  /** The value as JSON text; undefined leaves the field out. */
  readonly text: string | undefined;
}

const wrongForText = {
  'a number': '1',
  null: 'null',
  'an array': '["a"]',
  'an object': '{"a":"a"}',
  'a boolean': 'true',
};
const wrongForNumber = { ...wrongForText, 'a number': '"100"' };
const loneSurrogates = ['"\\ud800"', '"a\\udfff"', '"\\udc00\\ud800"'];

const badFields: readonly BadField[] = [
  ...bodyOperations.flatMap((operation) =>
    Object.entries(operation.body).flatMap(([field, value]) => [
      { operation, field, what: 'missing', text: undefined },
      ...Object.entries(typeof value === 'number' ? wrongForNumber : wrongForText).map(([what, text]) => ({
        operation,
        field,
        what,
        text,
      })),
    ]),
  ),
  ...[create, update].flatMap((operation) => [
    ...bad(operation, 'id', [
      '""',
      ...loneSurrogates,
      textOf('x', 1025),
      textOf('é', 513),
      textOf('🔑', 257),
    ]),
    ...bad(operation, 'name', [...loneSurrogates, textOf('x', 400 * 1024), textOf('é', 200 * 1024)]),
  ]),
  ...bad(payment, 'amount', ['1.5', '0', '-1', '-0', '100000000', '0.1', '1e-2', '1e15']),
  ...bad(payment, 'currency', ['""', '"EURO"', '"EU"', '"ABC"', '"E R"', '"EUR\\u0000"', '"€"', '"\\ud800"']),
  ...bad(payment, 'token', [
    '""',
    ...[cardNumber, spacedCardNumber, hyphenedCardNumber, `tok_${cardNumber}`].map((text) => `"${text}"`),
    ...['"a b"', '"tok_\\u0000"', '"tök"', '"tok_\\u007f"', '"tok\\n"', '"\\ud800"', textOf('t', 256)],
  ]),
  ...['IDP_CLIENT_ID', 'IDP_CLIENT_SECRET'].flatMap((field) =>
    bad(integration, field, ['""', '"a\\u0000b"', '"a b"', '"ä"', '"a\\n"', '"\\ud800"', textOf('x', 1025)]),
  ),
];

test('rejects every bad value of every field, names the field and changes nothing', async (t) => {
  const service = await startTestService(t);
  await service.post('/v3/table/books/create', { id: 'a', name: 'Alpha' });
  for (const { operation, field, what, text } of badFields) {
    await t.test(`${operation.name}: ${field} ${what}`, async () => {
      const response = await sendText(service, operation, bodyText(operation, { [field]: text }));
      assertError(response, { status: 400, code: 'invalid_request', param: field });
      assertNoCanary(response.text);
    });
  }
  await assertNothingChanged(service);
});

test('rejects bodies with unknown, duplicate or dangerous fields, and changes nothing', async (t) => {
  const service = await startTestService(t);
  await service.post('/v3/table/books/create', { id: 'a', name: 'Alpha' });
  for (const operation of bodyOperations) {
    const good = bodyText(operation, {});
    const [first = '', value = ''] = Object.entries(bodies[operation.name])[0] as [string, unknown];
    const bodyTexts = {
      'an unknown field': bodyText(operation, { extra: `"${tokenCanary}"` }),
      'a field in another case': bodyText(operation, { [first.toUpperCase().replace(/^IDP/, 'Idp')]: '"a"' }),
      constructor: bodyText(operation, { constructor: '"a"' }),
      __proto__: good.replace('{', '{"__proto__":{"a":1},'),
      'an escaped __proto__': good.replace('{', '{"\\u005f_proto__":{"a":1},'),
      'the same field twice': good.replace('{', `{"${first}":${JSON.stringify(value)},`),
      'the same field twice, once escaped': good.replace('{', `{"\\u00${hex(first)}${first.slice(1)}":1,`),
      'a number that would be rounded': bodyText(operation, { [first]: '9007199254740993' }),
      'a fraction that would be rounded': bodyText(operation, { [first]: '99.99999999999999999' }),
      'a number that is too large': bodyText(operation, { [first]: '1e400' }),
      'an array': `[${good}]`,
      'a string': JSON.stringify(good),
      null: 'null',
      'two values': `${good}${good}`,
    };
    for (const [what, text] of Object.entries(bodyTexts)) {
      await t.test(`${operation.name}: ${what}`, async () => {
        const response = await sendText(service, operation, text);
        assertError(response, {
          status: 400,
          code: what === 'two values' ? 'malformed_json' : 'invalid_request',
        });
        assertNoCanary(response.text);
      });
    }
  }
  await assertNothingChanged(service);
});

test('rejects a bad Idempotency-Key, names it and changes nothing', async (t) => {
  const service = await startTestService(t);
  await service.post('/v3/table/books/create', { id: 'a', name: 'Alpha' });
  for (const key of ['', '""', 'k'.repeat(256), spacedCardNumber, `"${hyphenedCardNumber}"`, 'k\u00e9y']) {
    const response = await service.post(payment.path, payment.body, { 'idempotency-key': key });
    assertError(response, { status: 400, code: 'invalid_request', param: 'Idempotency-Key' });
    assertNoCanary(response.text);
  }
  await assertNothingChanged(service);
});

test('names the field that the parser rejects: a rounded number, a duplicate field, __proto__', async (t) => {
  const service = await startTestService(t);
  for (const number of ['1e400', '9007199254740993', '99.99999999999999999']) {
    const response = await sendText(service, payment, bodyText(payment, { amount: number }));
    assertError(response, { status: 400, code: 'invalid_request', param: 'amount' });
  }
  const twice = await sendText(service, create, '{"id":"a","name":"b","id":"c"}');
  assertError(twice, { status: 400, code: 'invalid_request', param: 'id' });
  const dangerous = await sendText(service, create, '{"id":"a","name":"b","__proto__":{}}');
  assertError(dangerous, { status: 400, code: 'invalid_request', param: '__proto__' });
});

test('rejects a currency that is a valid code only after Unicode upper-casing', async (t) => {
  const service = await startTestService(t);
  for (const currency of ['u\u017fd', '\u0131nr']) {
    const response = await service.post(payment.path, { ...payment.body, currency });
    assertError(response, { status: 400, code: 'invalid_request', param: 'currency' });
  }
});

test('accepts values at their bounds', async (t) => {
  const service = await startTestService(t);
  const items = [
    { id: 'x'.repeat(1024), name: '' },
    { id: 'é'.repeat(512), name: 'x'.repeat(399 * 1024) },
    { id: 'n\0ul', name: '\0' },
    { id: '\u2028"\\/', name: '\u007f🔑\ufffd' },
  ];
  for (const item of items) assert.equal((await service.post(createPath, item)).status, 200);
  const sorted = items.toSorted((one, other) => Buffer.compare(Buffer.from(one.id), Buffer.from(other.id)));
  assert.deepEqual((await service.get('/v3/table/rejected/read')).json.body, sorted);

  for (const amount of ['1e2', '99999999', '1', '100.0', '0.1e3']) {
    const paid = await sendText(service, payment, bodyText(payment, { amount, token: '"tok_paid"' }));
    assert.equal(paid.status, 200, amount);
    const found = await service.get(paid.headers.get('location') ?? '');
    assert.equal(found.json.body.amount, Number(amount));
  }
  const key = 'k'.repeat(255);
  const keyed = await service.post(payment.path, payment.body, { 'idempotency-key': key });
  assert.equal(keyed.status, 200);
  const registered = await service.post(integration.path, {
    IDP_CLIENT_ID: '~'.repeat(1024),
    IDP_CLIENT_SECRET: '!',
  });
  assert.equal(registered.json.body.compelete, true);
});

/** Checks over HTTP and in the store: no table, no payment, no integration, no canary in the log or the files. */
async function assertNothingChanged(service: TestService): Promise<void> {
  assertError(await service.get('/v3/table/rejected/read'), { status: 404, code: 'table_not_found' });
  const books = await service.get('/v3/table/books/read');
  assert.equal(books.text, '{"statusCode":200,"body":[{"id":"a","name":"Alpha"}]}');
  await service.stop();
  assertNoCanary(service.logged());
  const stored = readFileSync(join(service.data, 'store.mdb'), 'latin1');
  assert.ok(
    stored.includes('Alpha'),
    'values are stored unencrypted here, so the search would find a canary',
  );
  assertNoCanary(stored);

  const engine = openLmdbEngine(service.data);
  try {
    assert.notEqual(await engine.scan('table:books'), undefined, 'a scan finds what was written');
    for (const space of ['payments', 'payment-keys', 'open-payments', 'integrations'] as const) {
      assert.equal(await engine.scan(`service:${space}`), undefined, `nothing was written to ${space}`);
    }
  } finally {
    await engine.close();
  }
}

function sendText(service: TestService, { name, method, path }: BodyOperation, text: string) {
  return service.send(method, name === 'create' ? createPath : path, text);
}

/** The body of an operation as JSON text, some of its fields changed, left out or added. */
function bodyText({ name }: BodyOperation, changes: Readonly<Record<string, string | undefined>>): string {
  const texts = Object.entries(bodies[name]).map(([field, value]) => [field, JSON.stringify(value)]);
  const fields = Object.entries({ ...Object.fromEntries(texts), ...changes });
  const given = fields.filter(([, text]) => text !== undefined);
  return `{${given.map(([field, text]) => `${JSON.stringify(field)}:${text}`).join()}}`;
}

function bad(operation: BodyOperation, field: string, texts: readonly string[]): BadField[] {
  return texts.map((text) => ({ operation, field, what: text.slice(0, 30), text }));
}

function textOf(character: string, count: number): string {
  return JSON.stringify(character.repeat(count));
}

function hex(text: string): string {
  return text.charCodeAt(0).toString(16);
}

function assertNoCanary(text: string): void {
  const found = canaries.filter((canary) => text.includes(canary));
  assert.deepEqual(found, [], 'no value that was sent is repeated, logged or stored');
}
