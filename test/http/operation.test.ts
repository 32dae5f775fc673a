import assert from 'node:assert/strict';
import { test } from 'node:test';
import Fastify from 'fastify';
import { Type } from 'typebox';
import { responseSchema } from '../../src/http/response/schemas.ts';
import { sendText } from '../../src/http/response/send.ts';
import { operation, routesOf } from '../../src/http/server/operation.ts';
import type { App } from '../../src/http/server/routes.ts';
import { useStrictValidation } from '../../src/http/server/validation.ts';

const common = {
  method: 'GET',
  tag: 'Tests',
  summary: 'A test',
  access: 'public',
  request: {},
  response: responseSchema(Type.Object({}), 'Done'),
} as const;

test('a handler returns the body, or sends the response itself, once', async () => {
  const warnings: string[] = [];
  const app = Fastify({ logger: { level: 'warn', stream: { write: (line) => warnings.push(line) } } });
  useStrictValidation(app as unknown as App);
  const operations = [
    operation({ ...common, path: '/body', id: 'body', handle: () => ({ a: 1 }) }),
    operation({ ...common, path: '/later', id: 'later', handle: async () => ({ a: 2 }) }),
    operation({
      ...common,
      path: '/sent',
      id: 'sent',
      handle: (_, reply) => sendText(reply, 200, '{"a":3}'),
    }),
    operation({
      ...common,
      path: '/hijacked',
      id: 'hijacked',
      handle: (_, reply) => {
        reply.hijack();
        setImmediate(() => reply.raw.end('{"a":4}'));
        return reply;
      },
    }),
  ];
  await routesOf(operations)(app as unknown as App);
  const texts = [];
  for (const path of ['/body', '/later', '/sent', '/hijacked']) texts.push((await app.inject(path)).payload);
  await app.close();
  assert.deepEqual(texts, [
    '{"statusCode":200,"body":{"a":1}}',
    '{"statusCode":200,"body":{"a":2}}',
    '{"a":3}',
    '{"a":4}',
  ]);
  assert.deepEqual(warnings, []);
});
