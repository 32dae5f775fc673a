import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { bearing, startServiceWithKeys } from '../support/access/keys.ts';
import { readPath } from '../support/http/documented-operations.ts';

/** Requests that one address has per second; the clock of the test stands still. */
const quota = 3;

/** The spellings of each group are one caller; two groups are two callers. */
const callers: Readonly<Record<string, readonly string[]>> = {
  'an address of IPv4': ['10.0.0.1', '10.0.0.1:4711', '10.0.0.1:80', ' 10.0.0.1:1 '],
  'another address of IPv4': ['10.0.0.2:4711', '::ffff:10.0.0.2', '[::ffff:10.0.0.2]:4711'],
  'a network of IPv6': ['2001:db8::1', '[2001:db8::1]', '[2001:db8::1]:4711', '[2001:db8::2]:4711'],
  'another network of IPv6': ['[2001:db8:0:1::1]:4711', '2001:db8:0:1::2'],
};

for (const [what, spellings] of Object.entries(callers)) {
  test(`counts ${what} as one caller, with any port that a trusted proxy adds`, async (t) => {
    const ask = await start(t);
    for (let n = 0; n < quota; n++) assert.equal(await ask(spellings[n % spellings.length] as string), 404);
    for (const spelling of spellings) assert.equal(await ask(spelling), 429, spelling);
    for (const [other, [spelling = '']] of Object.entries(callers)) {
      if (other !== what) assert.equal(await ask(spelling), 404, `${other} is another caller`);
    }
  });
}

test('counts the last address that a trusted proxy added, without its port', async (t) => {
  const ask = await start(t);
  for (let n = 0; n < quota; n++) assert.equal(await ask(`203.0.113.${n}:1, 10.0.0.1:${4711 + n}`), 404);
  assert.equal(await ask('203.0.113.9, 10.0.0.1'), 429);
});

test('counts the proxy as the caller when the header has no valid address', async (t) => {
  const ask = await start(t);
  for (let n = 0; n < quota; n++) assert.equal(await ask(`unknown-${n}`), 404);
  assert.equal(await ask('10.0.0.1:port'), 429);
});

async function start(t: TestContext): Promise<(forwardedFor: string) => Promise<number>> {
  const at = performance.now();
  t.mock.method(performance, 'now', () => at);
  const env = { COUNTERFOIL_TRUSTED_PROXIES: '127.0.0.1', COUNTERFOIL_LIMIT_REQUESTS: `${quota}` };
  const keys = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`${n}`, {}]));
  const { service, keys: made } = await startServiceWithKeys(t, keys, { env });
  let count = 0;
  // Each request has another key, so that only the address is counted.
  return async (forwardedFor) => {
    const headers = { ...bearing(made[`${count++ % 20}`] as string), 'x-forwarded-for': forwardedFor };
    return (await service.get(readPath, headers)).status;
  };
}
