import assert from 'node:assert/strict';
import { test } from 'node:test';
import Fastify from 'fastify';
import { Type } from 'typebox';
import { responseSchema } from '../../src/http/response/schemas.ts';
import { sendText } from '../../src/http/response/send.ts';
import { useStrictValidation } from '../../src/http/server/app.ts';
import type { App } from '../../src/http/server/operation.ts';
import { operation, routeFamily } from '../../src/http/server/operation.ts';

const common = { summary: 'A test', response: responseSchema(Type.Object({}), 'Done') };

test('a handler returns the body, or sends the response itself, once', async () => {
  const warnings: string[] = [];
  const app = Fastify({ logger: { level: 'warn', stream: { write: (line) => warnings.push(line) } } });
  useStrictValidation(app as unknown as App);
  const operations = [
    operation('GET', '/body', 'public', { ...common, id: 'body', handle: () => ({ a: 1 }) }),
    operation('GET', '/later', 'public', { ...common, id: 'later', handle: async () => ({ a: 2 }) }),
    operation('GET', '/sent', 'public', {
      ...common,
      id: 'sent',
      handle: (_, reply) => sendText(reply, 200, '{"a":3}'),
    }),
    operation('GET', '/hijacked', 'public', {
      ...common,
      id: 'hijacked',
      handle: (_, reply) => {
        reply.hijack();
        setImmediate(() => reply.raw.end('{"a":4}'));
        return reply;
      },
    }),
  ];
  await routeFamily('Tests', operations)(app as unknown as App);
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
