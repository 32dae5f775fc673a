import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create, integration, payment, readPath } from '../support/http/documented-operations.ts';
import { assertError } from '../support/http/error-response.ts';
import { ask } from '../support/http/exact-response.ts';
import { startTestService } from '../support/service.ts';

const json = { 'content-type': 'application/json' };
const literal: readonly (readonly [line: string, body?: string])[] = [
  [`GET ${readPath}`],
  [`POST ${create.path}`, JSON.stringify(create.body)],
  [`POST ${payment.path}`, JSON.stringify(payment.body)],
  [`POST ${integration.path}`, JSON.stringify(integration.body)],
  ['POST /v3/auth/sign-out', '{}'],
  ['GET /livez'],
  ['GET /openapi.json'],
  ['GET /.well-known/jwks.json'],
];
/** The segments that callers choose. */
const chosen = new Set(['books', 'simulated', 'charge', 'google', 'shop']);

test('returns 404 for percent-encoded characters in literal segments, which could bypass a proxy', async (t) => {
  const { origin, get } = await startTestService(t, { env: { COUNTERFOIL_LIMIT_CHARGES: '0' } });
  for (const [line, body] of literal) {
    const [method = '', path = ''] = line.split(' ');
    for (const spelled of spellings(path)) {
      const response = await ask(origin, `${method} ${spelled}`, json, body);
      assertError(response, { status: 404, code: 'route_not_found' });
    }
  }
  assertError(await get(readPath), { status: 404, code: 'table_not_found' });
});

test('accepts percent-encoded characters in the segments that callers choose', async (t) => {
  const { origin, post } = await startTestService(t);
  await post(create.path, create.body);
  const read = await ask(origin, `GET ${readPath.replace('books', '%62ook%73')}`);
  assert.deepEqual([read.status, read.json.body], [200, [create.body]]);
  const paid = await ask(
    origin,
    `POST ${payment.path.replace('simulated', 'simul%61ted')}`,
    json,
    JSON.stringify(payment.body),
  );
  assert.equal(paid.status, 200, paid.text);
});

/** The path with each literal character encoded on its own, and with each literal segment encoded in either case. */
function spellings(path: string): string[] {
  const segments = path.split('/');
  return segments.flatMap((segment, index) => {
    if (segment === '' || chosen.has(segment)) return [];
    const characters = [...segment];
    const inPath = (spelled: string) => segments.with(index, spelled).join('/');
    const alone = characters.map((_, at) =>
      inPath(characters.map((character, n) => (n === at ? encoded(character) : character)).join('')),
    );
    return [
      ...alone,
      inPath(characters.map(encoded).join('')),
      inPath(characters.map(encoded).join('').toLowerCase()),
    ];
  });
}

function encoded(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}
