import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { bearing, startServiceWithKeys } from '../support/access/keys.ts';
import { payment } from '../support/http/documented-operations.ts';
import { assertError } from '../support/http/error-response.ts';

const origin = 'https://shop.example';
const browser = { kind: 'publishable', scopes: ['payments:create'], origins: [origin] } as const;

/** Responds as a captcha provider: only the token `passed` is valid. */
async function startVerifier(t: TestContext) {
  const asked: URLSearchParams[] = [];
  const server = createServer(async (request, response) => {
    const form = new URLSearchParams(await readText(request));
    asked.push(form);
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify({ success: form.get('response') === 'passed' && form.get('secret') === 's3cret' }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const stop = () => new Promise<void>((resolve) => server.close(() => resolve()));
  t.after(() => stop());
  return { asked, stop, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/siteverify` };
}

test('a browser pays only with the token of a passed challenge, where the settings require one', async (t) => {
  const verifier = await startVerifier(t);
  const env = { COUNTERFOIL_CHALLENGE_URL: verifier.url, COUNTERFOIL_CHALLENGE_SECRET: 's3cret' };
  const { service, keys } = await startServiceWithKeys(t, { shop: browser, server: {} }, { env });
  const pay = (headers: Record<string, string>) =>
    service.post(payment.path, payment.body, { ...bearing(keys.shop), origin, ...headers });
  assertError(await pay({}), { status: 403, code: 'forbidden', param: 'Challenge-Token' });
  assert.equal(verifier.asked.length, 0, 'the provider is not called without a token');
  assertError(await pay({ 'challenge-token': 'invalid' }), {
    status: 403,
    code: 'forbidden',
    param: 'Challenge-Token',
  });
  assert.equal((await pay({ 'challenge-token': 'passed' })).status, 200);
  assert.equal(verifier.asked.at(-1)?.get('remoteip'), '127.0.0.1');
  assert.equal(
    (await service.post(payment.path, payment.body, bearing(keys.server))).status,
    200,
    'a server has no browser',
  );
});

test('rejects every browser while the provider of the challenge is unreachable', async (t) => {
  const verifier = await startVerifier(t);
  const env = { COUNTERFOIL_CHALLENGE_URL: verifier.url, COUNTERFOIL_CHALLENGE_SECRET: 's3cret' };
  const { service, keys } = await startServiceWithKeys(t, { shop: browser }, { env });
  await verifier.stop();
  const rejected = await service.post(payment.path, payment.body, {
    ...bearing(keys.shop),
    origin,
    'challenge-token': 'passed',
  });
  assertError(rejected, { status: 503, code: 'unavailable' });
});
