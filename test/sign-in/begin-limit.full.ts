import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { bearing, newKey } from '../support/access/keys.ts';
import { ScriptedOidc } from '../support/oidc/scripted-oidc.ts';
import { newDataFolder, startTestService } from '../support/service.ts';
import { Browser } from '../support/sign-in/browser.ts';
import { credentials, signInPath } from '../support/sign-in/signing-in.ts';

const begins = 30;
/** More sign-ins than one office behind one address begins at one moment. */
const burst = 2_000;

test('returns 429 with Retry-After beyond the limit of an address, and serves other addresses', async (t) => {
  const { begin, pass } = await start(t, { COUNTERFOIL_LIMIT_SIGN_INS: `${begins}` });
  for (let count = 0; count < begins; count++) assert.equal((await begin('198.51.100.7')).status, 303);
  const limited = await begin('198.51.100.7');
  assert.equal(limited.status, 429);
  assert.match(limited.headers.get('content-type') ?? '', /^text\/html/);
  assert.match(await limited.text(), /Try again/);
  const seconds = Number(limited.headers.get('retry-after'));
  assert.ok(seconds >= 1 && seconds <= 60, `Retry-After: ${seconds}`);
  assert.equal((await begin('198.51.100.8')).status, 303);
  pass(seconds * 1_000);
  assert.equal((await begin('198.51.100.7')).status, 303);
});

test('all addresses of one IPv6 subscriber (/64) share one limit', async (t) => {
  const { begin } = await start(t, { COUNTERFOIL_LIMIT_SIGN_INS: `${begins}` });
  const statuses = new Set<number>();
  for (let count = 0; count <= begins; count++) {
    statuses.add((await begin(`2001:db8:0:1::${count.toString(16)}`)).status);
  }
  assert.deepEqual([...statuses], [303, 429]);
  assert.equal((await begin('2001:db8:0:2::1')).status, 303);
});

test('has a default limit on sign-ins when the service has API keys', async (t) => {
  const { begin } = await start(t, {});
  const statuses = new Set<number>();
  for (let count = 0; count < burst && !statuses.has(429); count++) {
    statuses.add((await begin('198.51.100.7')).status);
  }
  assert.ok(statuses.has(429), `${burst} sign-ins at one moment`);
  assert.equal((await begin('198.51.100.8')).status, 303);
});

test('a sign-in that began within the limit finishes after the limit is reached', async (t) => {
  const { origin, begin } = await start(t, { COUNTERFOIL_LIMIT_SIGN_INS: '1' });
  const browser = new Browser();
  const { url } = await browser.follow(origin + signInPath, (next) => next.includes('/callback?'));
  await begin('127.0.0.1');
  assert.equal((await begin('127.0.0.1')).status, 429);
  assert.equal((await browser.open(url)).status, 303);
});

/** A service behind a proxy, with API keys and a clock that the test moves. */
async function start(t: TestContext, limits: Record<string, string>) {
  const data = newDataFolder(t);
  const key = await newKey(data);
  let now = Date.now();
  const env = { COUNTERFOIL_TRUSTED_PROXIES: '127.0.0.1', COUNTERFOIL_LIMIT_REQUESTS: '0', ...limits };
  const service = await startTestService(t, { data, env, now: () => now });
  const provider = await ScriptedOidc.start(t);
  const body = { ...credentials, IDP_ISSUER: provider.issuer };
  const registered = await service.post('/v3/create/service/auth/oidc/web', body, bearing(key));
  assert.equal(registered.status, 200, registered.text);
  const begin = (address: string) =>
    fetch(service.origin + signInPath, { headers: { 'x-forwarded-for': address }, redirect: 'manual' });
  const pass = (ms: number) => {
    now += ms;
  };
  return { origin: service.origin, begin, pass };
}
