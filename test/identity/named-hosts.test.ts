import assert from 'node:assert/strict';
import type { LookupAddress } from 'node:dns';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { outbound } from '../../src/identity/outbound.ts';

/** The outbound `fetch` of a service with these private issuers, where every name resolves to these addresses. */
function fetchWith(privateIssuers: readonly string[], ...addresses: string[]) {
  const resolve = async (): Promise<LookupAddress[]> =>
    addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  const options = { loopback: false, privateIssuers, resolve };
  return outbound(options);
}

test('a named host may resolve to a private address', async (t) => {
  const port = await startServer(t);
  const url = `http://keycloak.internal:${port}/`;
  assert.equal(await (await fetchWith(['keycloak.internal'], '127.0.0.1')(url)).text(), 'here');
  assert.equal(await (await fetchWith(['KeyCloak.Internal'], '127.0.0.1')(url)).text(), 'here');
});

test('a name may resolve into a named network', async (t) => {
  const port = await startServer(t);
  const url = `http://id.corp.example:${port}/`;
  assert.equal(await (await fetchWith(['127.0.0.0/8'], '127.0.0.1')(url)).text(), 'here');
});

test('rejects a host that is not named at a private address, although others are named', async () => {
  for (const host of ['other.internal', 'keycloak.internal.example.com', 'xkeycloak.internal', 'internal']) {
    await assert.rejects(
      fetchWith(['keycloak.internal'], '10.0.0.1')(`https://${host}/`),
      { code: 'address' },
      host,
    );
  }
  await assert.rejects(fetchWith(['10.0.0.0/8'], '192.168.1.1')('https://id.corp.example/'), {
    code: 'address',
  });
});

test('rejects a name if one of its addresses is outside of the named network', async () => {
  for (const addresses of [
    ['10.0.0.1', '192.168.1.1'],
    ['192.168.1.1', '10.0.0.1'],
    ['10.0.0.1', '169.254.169.254'],
  ]) {
    const fetch = fetchWith(['10.0.0.0/8'], ...addresses);
    await assert.rejects(fetch('https://id.corp.example/'), { code: 'address' }, addresses.join());
  }
});

test('rejects a named host that resolves to a metadata address (rebinding)', async () => {
  for (const address of ['169.254.169.254', '::ffff:169.254.169.254', 'fd00:ec2::254', 'fe80::a9fe:a9fe']) {
    const fetch = fetchWith(['keycloak.internal', '10.0.0.0/8'], address);
    await assert.rejects(fetch('https://keycloak.internal/'), { code: 'address' }, address);
  }
});

test('allows plain http only to named hosts', async () => {
  await assert.rejects(fetchWith(['keycloak.internal'], '93.184.215.14')('http://id.example.com/'), {
    code: 'scheme',
  });
});

async function startServer(t: TestContext): Promise<number> {
  const server = createServer((_request, response) => response.end('here')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}
