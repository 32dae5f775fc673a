import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bearing, idWithin } from '../support/access/keys.ts';
import { assertAbsent, filesIn } from '../support/canaries.ts';
import { runCommand } from '../support/command.ts';
import { newData, ServeProcess } from '../support/serve-process.ts';
import { tryToPost } from '../support/try-to-send.ts';

test('no API key appears in clear on disk, in the log, in a response or in /metrics, whatever happens to its request or service', async (t) => {
  const data = newData(t);
  const env = { COUNTERFOIL_DATA: data };
  const made = async (...args: string[]) => (await runCommand(['keys', ...args], env)).output.trim();
  const all = ['--scope', 'admin'];
  const live = await made('create', '--name', 'live', ...all);
  const revoked = await made('create', '--name', 'revoked', ...all);
  const limited = await made('create', '--name', 'limited', '--scope', 'tables:read', '--table', 'books');
  const rotated = await made('rotate', idWithin(live));
  await runCommand(['keys', 'revoke', idWithin(revoked)], env);
  const unknown = `${live.slice(0, -6)}canary`;
  const keys = [live, rotated, revoked, limited, unknown];

  const service = await ServeProcess.start(t, {
    data,
    simulate: true,
    env: { COUNTERFOIL_LOG_LEVEL: 'debug' },
  });
  const origin = await service.ready();
  const post = async (path: string, body: object) => {
    const headers = { 'content-type': 'application/json', ...bearing(rotated) };
    const response = await fetch(origin + path, { method: 'POST', headers, body: JSON.stringify(body) });
    return ((await response.json()) as { body: { id: string; key: string } }).body;
  };
  const byHttp = await post('/v3/keys', { name: 'by http', scopes: ['tables:read'] });
  const rotatedByHttp = await post(`/v3/keys/${byHttp.id}/rotate`, {});
  keys.push(byHttp.key, rotatedByHttp.key);
  const responses: string[] = [];
  for (const key of keys) {
    for (const [method, path, body] of requests(key)) {
      const headers = { 'content-type': 'application/json', ...bearing(key) };
      const response = await fetch(origin + path, {
        method,
        headers,
        ...(body === undefined ? {} : { body }),
      });
      responses.push(JSON.stringify([...response.headers]), await response.text());
    }
  }
  const metrics = await (await fetch(`${origin}/metrics`, { headers: bearing(rotated) })).text();
  assert.match(metrics, /unauthenticated/, 'rejections are counted');
  const slow = { amount: 1_050, currency: 'EUR', token: 'tok_slow' };
  const paying = tryToPost(`${origin}/stage/payment/simulated/charge`, slow, bearing(rotated));
  await service.kill();
  assert.equal(await paying, undefined);
  const listed = [await runCommand(['keys', 'list'], env), await runCommand(['audit', 'list'], env)];

  const files = filesIn(data);
  assert.ok(
    files['store.mdb']?.includes(idWithin(limited)),
    'the search misses a text that the file contains',
  );
  assertAbsent(
    keys.map((key) => key.split('.')[1] as string),
    {
      ...files,
      responses: Buffer.from(responses.join('\n') + metrics),
      commands: Buffer.from(listed.map(({ output, errors }) => output + errors).join('\n')),
      log: Buffer.from(service.errors),
    },
  );
});

/** Requests that succeed and requests that fail, with the key in its place and elsewhere. */
function requests(key: string): readonly (readonly [string, string, string?])[] {
  const request = { amount: 1_050, currency: 'EUR', token: 'tok_paid' };
  return [
    ['GET', '/v3/table/books/read'],
    ['GET', '/v3/table/other/read'],
    ['POST', '/v3/table/books/create', JSON.stringify({ id: key.slice(0, 20), name: 'a name' })],
    ['POST', '/v3/table/books/create', '{"id":'],
    ['POST', '/stage/payment/simulated/charge', JSON.stringify(request)],
    ['POST', '/stage/payment/simulated/charge', JSON.stringify({ ...request, key })],
    ['GET', `/v3/table/books/read?api_key=${key}`],
    ['GET', `/nothing/${key}`],
    ['DELETE', '/v3/service/auth/google/web'],
    ['PATCH', '/v3/table/books/read'],
    ['GET', '/v3/keys'],
    ['GET', '/v3/audit'],
    ['POST', '/v3/keys', JSON.stringify({ name: 'by http', scopes: ['tables:read'] })],
    ['POST', '/v3/keys', JSON.stringify({ name: 'other', scopes: ['tables:read'], key })],
  ];
}
