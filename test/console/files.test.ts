import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import Fastify from 'fastify';
import { consoleFolder } from '../../src/app/console-files.ts';
import { ServiceError } from '../../src/errors.ts';
import { consoleRoutes } from '../../src/http/routes/console.ts';
import type { Log } from '../../src/log.ts';
import { assertError } from '../support/http/error-response.ts';
import { exchange, requestText } from '../support/http/raw-http.ts';
import { startTestService } from '../support/service.ts';

test('every view has the page, which loads only files of this service, with a policy that allows no others', async (t) => {
  const service = await startTestService(t);
  const page = await service.get('/console');
  assert.equal(page.status, 200, page.text);
  assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8');
  for (const path of [
    '/console/',
    '/console/payments/simulated/charge/pay_1',
    '/console/tables/a%2Fb?from=x',
  ])
    assert.equal((await service.get(path)).text, page.text, path);
  const policy = page.headers.get('content-security-policy') ?? '';
  assert.ok(!/unsafe|https?:|\*|data:|blob:/.test(policy), policy);
  for (const part of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"])
    assert.ok(policy.includes(part), part);
  assert.equal(page.headers.get('x-frame-options'), 'DENY');
  assert.equal(page.headers.get('referrer-policy'), 'no-referrer');
  const loaded = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url = '']) => url);
  assert.ok(loaded.length >= 3);
  for (const url of loaded) assert.match(url, /^\/console\/assets\/[\w-]+\.(js|css|svg)$/);
  assert.ok(!/<style|<script(?![^>]*src=)|\son\w+=|style=/.test(page.text), 'nothing inline');
});

test('a browser revalidates the page by its content, and keeps the assets, which come compressed', async (t) => {
  const service = await startTestService(t);
  const page = await service.get('/console');
  const etag = page.headers.get('etag') ?? assert.fail();
  assert.match(etag, /^"[\w-]{22}"$/);
  assert.equal(page.headers.get('cache-control'), 'public, no-cache');
  assert.equal((await service.get('/console', { 'if-none-match': etag })).status, 304);
  const script = /src="([^"]+)"/.exec(page.text)?.[1] ?? assert.fail();
  const plain = await service.get(script, { 'accept-encoding': 'identity' });
  assert.equal(plain.headers.get('cache-control'), 'public, max-age=31536000, immutable');
  assert.equal(plain.headers.get('x-content-type-options'), 'nosniff');
  for (const coding of ['br', 'gzip']) {
    const coded = await service.get(script, { 'accept-encoding': coding });
    assert.equal(coded.headers.get('content-encoding'), coding);
    assert.equal(coded.text, plain.text);
  }
});

test('no path leads to other files, and nothing but GET is allowed', async (t) => {
  const service = await startTestService(t);
  for (const path of [
    '/console/assets/none.js',
    '/console/assets/../index.html/../../package.json',
    '/console/assets/..%2f..%2f..%2fpackage.json',
    '/console/assets/%2e%2e/%2e%2e/package.json',
    '/console/assets/..\\..\\package.json',
    '/console/assets//etc/passwd',
    '/console/assets/',
  ]) {
    const response = await exchange(service.origin, requestText(service.origin, `GET ${path}`));
    assert.ok(!response.text.includes('"name": "counterfoil"') && !response.text.includes('root:'), path);
    if (response.status !== 200) assertError(response, { status: 404, code: 'route_not_found' });
    else assert.match(response.text, /^<!doctype html>/, path);
  }
  assertError(await service.post('/console', {}), { status: 405, code: 'method_not_allowed' });
});

test('the built console can be read by any user that runs the service next', async () => {
  const log = { error: (word: string, fields: object) => assert.fail(`${word} ${JSON.stringify(fields)}`) };
  const folder = await consoleFolder(log as unknown as Log);
  for (const path of ['.', 'assets']) assert.equal(statSync(join(folder, path)).mode & 0o777, 0o755, path);
  assert.equal(statSync(join(folder, 'index.html')).mode & 0o777, 0o644);
});

test('a console that cannot be built is not built again for every request', async (t) => {
  const app = Fastify();
  t.after(() => app.close());
  let builds = 0;
  const failing = async () => {
    builds++;
    throw new ServiceError('unavailable');
  };
  await consoleRoutes(failing)(app as never);
  for (let n = 0; n < 3; n++) assert.notEqual((await app.inject('/console')).statusCode, 200);
  assert.equal(builds, 1);
});
