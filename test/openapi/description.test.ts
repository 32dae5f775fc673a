import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { scopes } from '../../src/access/scopes.ts';
import { errorCodes, errorTypes } from '../../src/errors.ts';
import { storedChargeStates } from '../../src/payments/charge-state.ts';
import { paidItemStates } from '../../src/payments/payment.ts';
import { refundStates } from '../../src/payments/refund-state.ts';
import { processorNames } from '../../src/processors/processor.ts';
import { providerNames } from '../../src/sign-in/types.ts';
import { documentFile, operationsOf, readDocument } from '../support/openapi/document.ts';

const document = readDocument();
const operations = operationsOf(document);

test('names every operation once, as a client names its functions', () => {
  const ids = operations.map(({ operationId, method, path }) => {
    assert.match(operationId ?? '', /^[a-z]+([A-Z][a-z]+)+$/, `${method} ${path}`);
    return operationId;
  });
  assert.ok(ids.length > 30);
  assert.deepEqual(ids, [...new Set(ids)]);
});

test('has no warning of the linter', async () => {
  const args = ['node_modules/@redocly/cli/bin/cli.js', 'lint', documentFile, '--format=json'];
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [...args, '--config=test/openapi/redocly.yaml'],
    { env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' } },
  ).catch((error) => error);
  assert.deepEqual(JSON.parse(stdout).problems, []);
});

const enums = {
  ErrorType: errorTypes,
  ErrorCode: errorCodes,
  PaymentStatus: storedChargeStates,
  RefundStatus: refundStates,
  PaidItemStatus: paidItemStates,
  Processor: processorNames,
  IdentityProvider: providerNames,
} as const;

for (const [name, values] of Object.entries(enums)) {
  test(`lists every ${name}`, () => {
    assert.deepEqual(document.components.schemas[name]?.enum, values);
  });
}

test('requires of each operation one scope of the closed list, or none; one payment has a secret too', () => {
  const withSecret: string[] = [];
  for (const { security, operationId } of operations as unknown as {
    security: Record<string, string[]>[];
    operationId: string;
  }[]) {
    const [withKey, ...others] = security;
    if (withKey === undefined) continue;
    assert.deepEqual(Object.keys(withKey), ['apiKey'], operationId);
    assert.equal(withKey.apiKey?.length, 1, operationId);
    assert.ok((scopes as readonly string[]).includes(withKey.apiKey?.[0] ?? ''), operationId);
    if (others.length > 0) {
      assert.deepEqual(others, [{ paymentClientSecret: [] }]);
      withSecret.push(operationId);
    }
  }
  assert.deepEqual(withSecret, ['getPayment']);
});

test('has each schema with a name once, and refers to it everywhere else', () => {
  const texts = new Map(
    Object.entries(document.components.schemas).map(([name, schema]) => [JSON.stringify(schema), name]),
  );
  assert.equal(texts.size, Object.keys(document.components.schemas).length, 'no two are the same');
  const copies: string[] = [];
  const visit = (value: unknown, path: string): void => {
    if (typeof value !== 'object' || value === null) return;
    const name = texts.get(JSON.stringify(value));
    if (name !== undefined && path !== `/components/schemas/${name}`) copies.push(`${path}: ${name}`);
    for (const [key, each] of Object.entries(value)) visit(each, `${path}/${key}`);
  };
  visit(document, '');
  assert.deepEqual(copies, []);
});

test('describes the errors of every operation that responds with JSON', () => {
  for (const { operationId, responses } of operations) {
    assert.ok(responses['4XX'], operationId);
    if (responses['200']?.content?.['application/json'] !== undefined)
      assert.ok(responses['4XX'].content?.['application/json'] && responses['5XX'], operationId);
  }
});
