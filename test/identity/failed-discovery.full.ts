import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { busyMachineMs } from '../support/busy-machine.ts';
import { credentials, register, signInPath, startSignIn } from '../support/sign-in/signing-in.ts';

const discoveryPath = '/.well-known/openid-configuration';
const begins = process.env.LONG === '1' ? 2_000 : 200;
/** A failure is cached for seconds, so that a user who tries again a little later can sign in. */
const cachedMsMax = 30_000;

const failures: Readonly<Record<string, (response: ServerResponse) => void>> = {
  'returns 500': (response) => void response.writeHead(500).end(),
  'returns 404': (response) => void response.writeHead(404).end(),
  'closes the connection': (response) => void response.destroy(),
};

for (const [name, fail] of Object.entries(failures)) {
  test(`calls a provider that ${name} at most once a second while many sign-ins begin`, async (t) => {
    const { service, provider } = await startSignIn(t);
    provider.twists = {
      respond: (_path, response) => {
        fail(response);
        return true;
      },
    };
    const beganAt = performance.now();
    for (let count = 0; count < begins; count++) {
      const { status } = await fetch(service.origin + signInPath, { redirect: 'manual' });
      assert.equal(status, 502);
    }
    // At most one request a second, however long the loop took on this machine.
    const seconds = (performance.now() - beganAt) / 1_000;
    const requests = provider.count(discoveryPath);
    assert.ok(requests >= 1 && requests <= 2 + seconds, `${requests} requests in ${seconds} s`);
  });
}

test('calls a provider again soon after it has recovered', async (t) => {
  const { service, provider } = await startSignIn(t);
  const begin = async () => (await fetch(service.origin + signInPath, { redirect: 'manual' })).status;
  provider.twists = { respond: (_path, response) => response.writeHead(500).end() !== undefined };
  assert.equal(await begin(), 502);
  provider.twists = {};
  const giveUpAt = performance.now() + cachedMsMax + busyMachineMs;
  while ((await begin()) !== 303) {
    assert.ok(performance.now() < giveUpAt, `still rejected after ${cachedMsMax} ms`);
    await sleep(200);
  }
});

test('a registration that verifies calls the provider even after a cached failure', async (t) => {
  const { service, provider } = await startSignIn(t);
  provider.twists = { respond: (_path, response) => response.writeHead(500).end() !== undefined };
  await fetch(service.origin + signInPath, { redirect: 'manual' });
  provider.twists = {};
  const body = { ...credentials, IDP_ISSUER: provider.issuer };
  const { status, text } = await service.post('/v3/create/service/auth/oidc/web?verify=true', body);
  assert.equal(status, 200, text);
  // The next sign-in uses the metadata that it fetched.
  assert.equal((await fetch(service.origin + signInPath, { redirect: 'manual' })).status, 303);
});

test('a failure of one provider does not affect another one', async (t) => {
  const first = await startSignIn(t);
  const { service } = first;
  first.provider.twists = { respond: (_path, response) => response.writeHead(500).end() !== undefined };
  const second = await startSignIn(t);
  await register(service, second.provider, 'second');
  assert.equal((await fetch(service.origin + signInPath, { redirect: 'manual' })).status, 502);
  const other = await fetch(`${service.origin}/v3/auth/oidc/second/sign-in`, { redirect: 'manual' });
  assert.equal(other.status, 303);
});
