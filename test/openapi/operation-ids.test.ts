import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

const { paths } = JSON.parse(readFileSync('openapi.json', 'utf8')) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId?: string }>>>>;
};

test('names every operation once, as a function of a client is named', () => {
  const ids = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, { operationId = '' }]) => {
      assert.match(operationId, /^[a-z]+([A-Z][a-z]+)+$/, `${method} ${path}`);
      return operationId;
    }),
  );
  assert.ok(ids.length > 30);
  assert.deepEqual(ids, [...new Set(ids)]);
});
