import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestService } from '../support/service.ts';
import { credentials } from '../support/sign-in/signing-in.ts';

test('rejects a return URL with a wildcard in its host', async (t) => {
  const service = await startTestService(t);
  const register = (path: string, url: string) =>
    service.post(path, { ...credentials, return_urls: ['https://app.example.com/in', url] });
  for (const [index, url] of [
    'https://*.example/',
    'https://*/',
    'https://*.example.com/signed-in',
    'https://app.*.example.com/',
    'https://app*.example.com/',
    'https://*.example.com:8443/',
  ].entries()) {
    const { status, json } = await register(`/v3/create/service/auth/google/web-${index}`, url);
    assert.equal(status, 400, url);
    assert.equal(json.body.error.param, 'return_urls.1');
    assert.equal(json.body.compelete, false);
  }
  const { status, text } = await register('/v3/create/service/auth/google/web', 'https://a.example/*');
  assert.equal(status, 200, `a path may have any character: ${text}`);
});

test('rejects it also when an integration is replaced', async (t) => {
  const service = await startTestService(t);
  assert.equal((await service.post('/v3/create/service/auth/google/web', credentials)).status, 200);
  const body = { ...credentials, return_urls: ['https://*.example/'] };
  const { status, json } = await service.send('PUT', '/v3/service/auth/google/web', body);
  assert.equal(status, 400);
  assert.equal(json.body.error.param, 'return_urls.0');
});
