import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { bodyOperations, create, payment, readPath } from '../support/http/documented-operations.ts';
import { startTestService, type TestService } from '../support/service.ts';

const operationsOfTheDocument = {
  '/stage/payment/{processor}/{route_id}': 'post',
  '/v3/table/{TABLE_NAME}/read': 'get',
  '/v3/table/{TABLE_NAME}/create': 'post',
  '/v3/table/{TABLE_NAME}/update': 'put',
  '/v3/create/service/auth/{identity_provider}/{INTEGRATION_NAME}': 'post',
} as const;

test('reports that it is alive and ready, in the envelope', async (t) => {
  const service = await startTestService(t);
  for (const [path, status] of [
    ['/livez', 'alive'],
    ['/readyz', 'ready'],
  ] as const) {
    const response = await service.get(path);
    assert.equal(response.text, `{"statusCode":200,"body":{"status":"${status}"}}`);
    assert.equal(response.headers.get('content-type'), 'application/json');
  }
});

test('describes its five operations in a complete OpenAPI 3.1 document', async (t) => {
  const service = await startTestService(t);
  const document = (await service.get('/openapi.json')).json;
  assert.match(document.openapi, /^3\.1\.\d+$/);
  assert.ok(document.info.title && document.info.version);
  for (const [path, method] of Object.entries(operationsOfTheDocument)) {
    const operation = document.paths[path]?.[method];
    assert.ok(operation, `${method} ${path}`);
    assert.ok(operation.responses['200'] && operation.responses['4XX'], `${path} describes its responses`);
    assert.equal(operation.requestBody !== undefined, method !== 'get', `${path} describes its body`);
    const inPath = operation.parameters?.filter((parameter: { in: string }) => parameter.in === 'path') ?? [];
    const named = inPath.map(({ name }: { name: string }) => `{${name}}`);
    assert.deepEqual(named, path.match(/\{\w+\}/g), `${path} describes its parameters`);
  }
  for (const [, pointer = ''] of JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)) {
    const target = pointer.split('/').reduce((node, key) => node?.[key], document);
    assert.ok(target, `#/${pointer} exists`);
  }
});

test('responds as its OpenAPI document describes, on success and on failure', async (t) => {
  const service = await startTestService(t);
  const document = (await service.get('/openapi.json')).json;
  const ajv = new Ajv2020({ strict: false });
  ajv.addSchema(document, 'document');
  const assertDescribed = (
    path: string,
    method: string,
    response: Awaited<ReturnType<TestService['get']>>,
  ) => {
    const status = response.status === 200 ? '200' : `${Math.floor(response.status / 100)}XX`;
    const place = ['paths', path, method, 'responses', status, 'content', 'application/json', 'schema'];
    const pointer = place.map((key) => encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1')));
    const validate = ajv.getSchema(`document#/${pointer.join('/')}`);
    assert.ok(validate, `${method} ${path} describes its ${status}`);
    assert.ok(validate(response.json), `${response.text}: ${ajv.errorsText(validate.errors)}`);
  };
  const [paymentPath, , createPath, updatePath, integrationPath] = Object.keys(operationsOfTheDocument);
  const paths = {
    payment: paymentPath,
    create: createPath,
    update: updatePath,
    integration: integrationPath,
  };
  for (const { name, method, path, body } of bodyOperations) {
    const done = await service.send(method, path, body);
    assert.equal(done.status, 200);
    for (const response of [done, await service.send(method, path, { ...body, extra: 1 })]) {
      assertDescribed(paths[name] as string, method.toLowerCase(), response);
    }
  }
  assertDescribed('/v3/table/{TABLE_NAME}/read', 'get', await service.get(readPath));
  assertDescribed('/v3/table/{TABLE_NAME}/read', 'get', await service.get('/v3/table/nothing/read'));
  const unknown = await service.post(payment.path, { ...payment.body, token: 'tok_lost_reply' });
  assert.equal(unknown.status, 504);
  assertDescribed(paymentPath as string, 'post', unknown);
});

test('serves a page to try the operations, which loads nothing from another origin', async (t) => {
  const service = await startTestService(t);
  const page = await service.get('/docs');
  assert.equal(page.status, 200);
  assert.match(page.headers.get('content-type') ?? '', /^text\/html/);
  const policy = page.headers.get('content-security-policy') ?? '';
  assert.match(policy, /default-src 'none'/);
  assert.doesNotMatch(policy, /[a-z]\.[a-z]|https?:|\*/, 'the policy names no other host');
  const scripts = /script-src ([^;]*)/.exec(policy)?.[1];
  assert.equal(scripts, "'self'", 'no inline script runs');

  const tags = page.text.match(/<(script|link|img|iframe|source|object|embed)\b[^>]*>/g) ?? [];
  const references = tags.map((tag) => /\b(?:src|href|data)="([^"]+)"/.exec(tag)?.[1]);
  assert.ok(
    references.some((reference) => reference?.endsWith('.js')),
    'the page has a script',
  );
  assert.ok(
    references.some((reference) => reference?.endsWith('.css')),
    'the page has a style',
  );
  for (const reference of references) {
    assert.ok(reference !== undefined, 'no script is inline');
    const url = new URL(reference, `${service.origin}/docs`);
    assert.equal(url.origin, service.origin);
    const part = await service.get(url.pathname);
    assert.equal(part.status, 200, reference);
    assert.ok(part.text.length > 0, reference);
  }
  const script = await service.get('/docs/static/swagger-initializer.js');
  const document = /url: resolveUrl\('\.(\/\w+)'\)/.exec(script.text)?.[1];
  const described = await service.get(`/docs${document}`);
  assert.deepEqual(described.json, (await service.get('/openapi.json')).json);
});

test('HEAD on read returns the headers of GET without the body, for small and large tables', async (t) => {
  const service = await startTestService(t);
  await service.post(create.path, create.body);
  const got = await service.get(readPath);
  const head = await service.send('HEAD', readPath);
  assert.equal(head.status, 200);
  assert.equal(head.text, '');
  for (const name of ['content-type', 'content-length']) {
    assert.equal(head.headers.get(name), got.headers.get(name));
  }
  for (const id of ['x', 'y', 'z']) await service.post(create.path, { id, name: 'n'.repeat(300_000) });
  const large = await service.send('HEAD', readPath);
  assert.deepEqual([large.status, large.text], [200, '']);
  assert.equal(large.headers.get('content-type'), 'application/json');
  assert.equal((await service.send('HEAD', '/v3/table/nothing/read')).status, 404);
});
