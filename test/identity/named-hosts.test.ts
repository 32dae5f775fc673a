import assert from 'node:assert/strict';
import type { LookupAddress } from 'node:dns';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { outbound } from '../../src/identity/outbound.ts';

/** The way out of a service whose operator named these hosts and networks, with names that lead where a test says. */
function wayOut(privateIssuers: readonly string[], ...addresses: string[]) {
  const resolve = async (): Promise<LookupAddress[]> =>
    addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  const options = { loopback: false, privateIssuers, resolve };
  return outbound(options);
}

test('a named host may lie at a private address', async (t) => {
  const port = await startServer(t);
  const url = `http://keycloak.internal:${port}/`;
  assert.equal(await (await wayOut(['keycloak.internal'], '127.0.0.1')(url)).text(), 'here');
  assert.equal(await (await wayOut(['KeyCloak.Internal'], '127.0.0.1')(url)).text(), 'here');
});

test('a name may lead into a named network', async (t) => {
  const port = await startServer(t);
  const url = `http://id.corp.example:${port}/`;
  assert.equal(await (await wayOut(['127.0.0.0/8'], '127.0.0.1')(url)).text(), 'here');
});

test('a host that is not named is refused at a private address, beside the named ones', async () => {
  for (const host of ['other.internal', 'keycloak.internal.example.com', 'xkeycloak.internal', 'internal']) {
    await assert.rejects(
      wayOut(['keycloak.internal'], '10.0.0.1')(`https://${host}/`),
      { code: 'address' },
      host,
    );
  }
  await assert.rejects(wayOut(['10.0.0.0/8'], '192.168.1.1')('https://id.corp.example/'), {
    code: 'address',
  });
});

test('one address outside of the named network refuses them all', async () => {
  for (const addresses of [
    ['10.0.0.1', '192.168.1.1'],
    ['192.168.1.1', '10.0.0.1'],
    ['10.0.0.1', '169.254.169.254'],
  ]) {
    const fetch = wayOut(['10.0.0.0/8'], ...addresses);
    await assert.rejects(fetch('https://id.corp.example/'), { code: 'address' }, addresses.join());
  }
});

test('a named host that leads to a metadata address is refused (rebinding)', async () => {
  for (const address of ['169.254.169.254', '::ffff:169.254.169.254', 'fd00:ec2::254', 'fe80::a9fe:a9fe']) {
    const fetch = wayOut(['keycloak.internal', '10.0.0.0/8'], address);
    await assert.rejects(fetch('https://keycloak.internal/'), { code: 'address' }, address);
  }
});

test('plain http goes to what is named alone', async () => {
  await assert.rejects(wayOut(['keycloak.internal'], '93.184.215.14')('http://id.example.com/'), {
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
