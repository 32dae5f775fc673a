import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { version } from '../../src/version.ts';
import { assertError } from '../support/http/error-response.ts';
import { startTestService, type TestService } from '../support/service.ts';

const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/webp,*/*;q=0.8';
const links = {
  console: '/console',
  documentation: '/docs',
  openapi: '/openapi.json',
  liveness: '/livez',
  readiness: '/readyz',
};

test('GET / names the service, its version, its paths, and links that work', async (t) => {
  const service = await startTestService(t);
  const response = await service.get('/');
  assert.deepEqual(response.json, {
    statusCode: 200,
    body: {
      service: 'Counterfoil',
      version,
      links,
      paths: { tables: '/v3/table', sign_in: '/v3/auth', payments: '/stage/payment' },
    },
  });
  assert.equal(response.headers.get('content-type'), 'application/json');
  assert.equal(response.headers.get('x-content-type-options'), 'nosniff');
  for (const link of Object.values(links)) assert.equal((await service.get(link)).status, 200, link);
});

test('GET / matches its description in the OpenAPI document', async (t) => {
  const service = await startTestService(t);
  const document = (await service.get('/openapi.json')).json;
  const { operationId, responses } = document.paths['/'].get;
  assert.equal(operationId, 'showStart');
  assert.deepEqual(Object.keys(responses['200'].content), ['application/json', 'text/html']);
  const ajv = new Ajv2020({ strict: false, validateFormats: false }).addSchema(document, 'document');
  const validate = ajv.getSchema('document#/components/schemas/StartPage');
  assert.ok(validate?.((await service.get('/')).json.body), ajv.errorsText(validate?.errors));
});

test('GET / returns a page with the same links to a caller that prefers HTML, and the envelope to every other', async (t) => {
  const service = await startTestService(t);
  const typeFor = async (accept: string) =>
    (await service.get('/', { accept })).headers.get('content-type')?.split(';')[0];
  for (const accept of [browser, 'text/html', 'TEXT/HTML, */*', 'application/json;q=0.5, text/html;q=0.6'])
    assert.equal(await typeFor(accept), 'text/html', accept);
  for (const accept of [
    '',
    '*/*',
    'application/json',
    'text/html, application/json',
    'text/html;q=0, */*',
    'text/html;q=0.5, application/*',
    'text/plain',
    ';;,=',
  ])
    assert.equal(await typeFor(accept), 'application/json', accept);

  const page = await service.get('/', { accept: browser });
  assert.deepEqual(hrefsOf(page.text), Object.values(links));
  assert.ok(page.text.includes(`Version ${version}`));
});

test('the start page loads nothing, runs no script, and its policy allows its style alone', async (t) => {
  const service = await startTestService(t);
  const { text, headers } = await service.get('/', { accept: browser });
  assert.doesNotMatch(text, /<(script|link|img|iframe|source|object|embed|form)\b|\son\w+=|\sstyle=/);
  const policy = headers.get('content-security-policy') ?? '';
  const digest = createHash('sha256')
    .update(/<style>(.*?)<\/style>/s.exec(text)?.[1] ?? '')
    .digest('base64');
  assert.equal(
    policy,
    `default-src 'none'; style-src 'sha256-${digest}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  );
  assert.match(text, /^<!doctype html>\n<html lang="en">/);
  assert.match(text, /<meta name="viewport"/);
  assert.match(text, /<main>\n<h1>Counterfoil<\/h1>/);
  assert.match(text, /prefers-color-scheme:dark/);
});

test('GET / is revalidated by its ETag, for each representation', async (t) => {
  const service = await startTestService(t);
  const tags: string[] = [];
  for (const accept of [browser, 'application/json']) {
    const first = await service.get('/', { accept });
    const tag = first.headers.get('etag') ?? '';
    tags.push(tag);
    assert.equal(first.headers.get('cache-control'), 'public, no-cache');
    assert.equal(first.headers.get('vary'), 'accept');
    const unchanged = await service.get('/', { accept, 'if-none-match': `W/${tag}, "x"` });
    assert.deepEqual([unchanged.status, unchanged.text], [304, '']);
    for (const name of ['etag', 'vary', 'cache-control'])
      assert.equal(unchanged.headers.get(name), first.headers.get(name), name);
    assert.equal((await service.get('/', { accept, 'if-none-match': '"x"' })).status, 200);
    const head = await service.send('HEAD', '/', undefined, { accept });
    assert.deepEqual([head.status, head.text, head.headers.get('etag')], [200, '', tag]);
    assert.equal(head.headers.get('content-length'), String(Buffer.byteLength(first.text)));
  }
  assert.notEqual(tags[0], tags[1]);
});

test('GET / varies with the origin too when pages of other origins may read it', async (t) => {
  const service = await startTestService(t, { env: { COUNTERFOIL_CORS_ORIGINS: 'https://shop.example' } });
  const { headers } = await service.get('/', { origin: 'https://shop.example' });
  assert.equal(headers.get('vary'), 'accept, origin');
});

test('other methods on / return 405', async (t) => {
  const service = await startTestService(t);
  for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
    const response = await service.send(method, '/');
    assertError(response, { status: 405, code: 'method_not_allowed' });
    assert.equal(response.headers.get('allow'), 'GET, HEAD');
  }
});

test('without documentation, GET / names neither it, nor the version, nor the paths', async (t) => {
  const env = { COUNTERFOIL_DOCS: 'off', COUNTERFOIL_BASE_PATH: '/inner' };
  const service = await startTestService(t, { env });
  const { console, liveness, readiness } = links;
  const { text } = await service.get('/');
  assert.deepEqual(JSON.parse(text).body, {
    service: 'Counterfoil',
    links: { console, liveness, readiness },
  });
  const page = await service.get('/', { accept: browser });
  assert.deepEqual(hrefsOf(page.text), [console, liveness, readiness]);
  assert.ok(!page.text.includes(version) && !page.text.includes('inner'));
});

test('without the console, GET / does not name it', async (t) => {
  const service = await startTestService(t, { env: { COUNTERFOIL_CONSOLE: 'off' } });
  const { console: _, ...others } = links;
  assert.deepEqual((await service.get('/')).json.body.links, others);
});

test('GET / links to the public URL, and names the paths with their prefixes', async (t) => {
  const service = await startTestService(t, {
    env: {
      COUNTERFOIL_PUBLIC_URL: 'https://api.example',
      COUNTERFOIL_BASE_PATH: '/app',
      COUNTERFOIL_PAYMENT_BASE_PATH: '/pay',
    },
  });
  const { body } = (await service.get('/')).json;
  assert.deepEqual(Object.values(body.links), hrefsAt('https://api.example'));
  const paths = { tables: '/app/v3/table', sign_in: '/app/v3/auth', payments: '/pay/stage/payment' };
  assert.deepEqual(body.paths, paths);
  const page = await service.get('/', { accept: browser });
  assert.deepEqual(hrefsOf(page.text), hrefsAt('https://api.example'));
  for (const path of Object.values(paths)) assert.ok(page.text.includes(`<code>${path}</code>`), path);
});

test('on a separate listener for payments, GET / names its own paths and links', async (t) => {
  const service = await startTestService(t, {
    env: { COUNTERFOIL_PUBLIC_URL: 'https://api.example', COUNTERFOIL_PAYMENT_PORT: '0' },
  });
  const ofPayments = await (await fetch(`${service.paymentOrigin}/`)).json();
  const { console: _, ...ofBoth } = links;
  const body = { service: 'Counterfoil', version, links: ofBoth, paths: { payments: '/stage/payment' } };
  assert.deepEqual(ofPayments, { statusCode: 200, body });
  const { paths } = (await service.get('/')).json.body;
  assert.deepEqual(Object.keys(paths), ['tables', 'sign_in']);
});

test('GET / needs no API key, and is closed to proxies of an open service, as the documentation is', async (t) => {
  const env = { COUNTERFOIL_STRIPE_KEY: 'sk_test_1' };
  const withKeys = await startTestService(t, { env, simulate: false });
  assert.ok(withKeys.keyHeader.authorization);
  const open = await startTestService(t);
  const forwarded = { 'x-forwarded-for': '192.0.2.60' };
  const statuses = async ({ origin }: TestService, headers: Record<string, string>) =>
    Promise.all(['/', '/openapi.json'].map(async (path) => (await fetch(origin + path, { headers })).status));
  assert.deepEqual(await statuses(withKeys, {}), [200, 200]);
  assert.deepEqual(await statuses(withKeys, forwarded), [200, 200]);
  assert.deepEqual(await statuses(open, forwarded), [401, 401]);
});

function hrefsOf(page: string): readonly string[] {
  return Array.from(page.matchAll(/href="([^"]+)"/g), ([, href = '']) => href);
}

function hrefsAt(origin: string): readonly string[] {
  return Object.values(links).map((link) => origin + link);
}
