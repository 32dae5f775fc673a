import assert from 'node:assert/strict';
import type { LookupAddress } from 'node:dns';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { outbound } from '../../src/identity/outbound.ts';
import { loopbackForms, privateForms } from '../support/identity/address-forms.ts';
import { startTestService } from '../support/service.ts';
import { credentials } from '../support/sign-in/signing-in.ts';

const never = () => Promise.reject(new Error('this name must not be resolved'));
const always =
  (...addresses: string[]) =>
  async (): Promise<LookupAddress[]> =>
    addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));

test('does not call an address of this machine or of a private network, in any spelling', async () => {
  assert.ok(loopbackForms.length + privateForms.length >= 40);
  for (const host of [...loopbackForms, ...privateForms]) {
    for (const scheme of ['https', 'http']) {
      const fetch = outbound({ loopback: false, resolve: always('127.0.0.1') });
      await assert.rejects(
        fetch(`${scheme}://${host}/`),
        ({ code }) => ['address', 'scheme'].includes(code),
        host,
      );
    }
    await assert.rejects(outbound({ loopback: false, resolve: always('10.0.0.1') })(`https://${host}/`), {
      code: 'address',
    });
  }
});

test('does not call a name that resolves to such an address, also when it has public ones too', async () => {
  for (const host of privateForms) {
    const address = new URL(`https://${host}`).hostname.replace(/^\[|\]$/g, '');
    for (const addresses of [[address], ['93.184.215.14', address], [address, '93.184.215.14']]) {
      const fetch = outbound({ loopback: false, resolve: always(...addresses) });
      await assert.rejects(fetch('https://id.example.com/'), { code: 'address' }, addresses.join());
    }
  }
  await assert.rejects(outbound({ loopback: false, resolve: always() })('https://id.example.com/'), {
    code: 'address',
  });
});

test('rejects the registration of an issuer at such an address', async (t) => {
  const service = await startTestService(t);
  for (const host of privateForms) {
    const body = { ...credentials, IDP_ISSUER: `https://${host}/realm` };
    const response = await service.post('/v3/create/service/auth/oidc/web?verify=true', body);
    assert.equal(response.status, 400, host);
    assert.equal(response.json.body.error.param, 'IDP_ISSUER');
    assert.match(response.json.body.error.message, /could not be reached/);
  }
  const rejections = service.logged().match(/"detail":"outbound_address"/g) ?? [];
  // The rejections of one second share a line.
  assert.ok(rejections.length > 0);
});

test('requires https, except to this machine when the service itself is local', async (t) => {
  const { origin } = await startServer(t, (_request, response) => response.end('here'));
  assert.equal(await (await outbound({ loopback: true })(origin)).text(), 'here');
  await assert.rejects(outbound({ loopback: false })(origin), { code: 'scheme' });
  const near = outbound({ loopback: true, resolve: always('127.0.0.1') });
  for (const url of [
    'http://id.example.com/',
    'http://10.0.0.1/',
    'ftp://localhost/',
    'file:///etc/passwd',
    'data:text/plain,x',
    'gopher://127.0.0.1/',
  ]) {
    await assert.rejects(near(url), { code: 'scheme' }, url);
  }
  // A public name that resolves to this machine is an attack, also for a local service.
  await assert.rejects(near('https://id.example.com/'), { code: 'address' });
  await assert.rejects(outbound({ loopback: true, resolve: always('10.0.0.1') })('https://localhost/'), {
    code: 'address',
  });
});

test('connects to the checked address when the name then resolves to another one (rebinding)', async (t) => {
  const { port } = await startServer(t, (_request, response) => response.end('checked'), '127.0.0.2');
  let lookups = 0;
  const rebinding = async () => {
    lookups++;
    // The first lookup is honest, and every later one is the attack.
    return lookups === 1 ? always('127.0.0.2')() : always('169.254.169.254')();
  };
  const fetch = outbound({ loopback: true, resolve: rebinding });
  assert.equal(await (await fetch(`http://localhost:${port}/`)).text(), 'checked');
  assert.equal(lookups, 1);
  await assert.rejects(fetch(`http://localhost:${port}/`), { code: 'address' });
  assert.equal(lookups, 2);
});

test('follows no redirect', async (t) => {
  let followed = 0;
  const { origin } = await startServer(t, (request, response) => {
    if (request.url === '/inside') followed++;
    response.writeHead(Number(request.url?.slice(1)) || 200, { location: '/inside' }).end();
  });
  for (const status of [300, 301, 302, 303, 304, 307, 308]) {
    await assert.rejects(outbound({ loopback: true, resolve: never })(`${origin}/${status}`), {
      code: 'redirect',
    });
  }
  assert.equal(followed, 0);
});

test('rejects a response that is larger than 1 MiB, with or without Content-Length, or compressed', async (t) => {
  const mebibyte = 1024 * 1024;
  const { origin } = await startServer(t, (request, response) => {
    const size = Number(request.url?.split('/')[1]);
    if (request.url?.endsWith('/gzip')) response.setHeader('content-encoding', 'gzip');
    if (request.url?.endsWith('/sized')) response.setHeader('content-length', size);
    response.end(Buffer.alloc(size));
  });
  const fetch = outbound({ loopback: true });
  assert.equal((await (await fetch(`${origin}/${mebibyte}/sized`)).arrayBuffer()).byteLength, mebibyte);
  for (const kind of ['sized', 'chunked']) {
    await assert.rejects(fetch(`${origin}/${mebibyte + 1}/${kind}`), { code: 'too_large' });
    await assert.rejects(fetch(`${origin}/${10 * mebibyte}/${kind}`), { code: 'too_large' });
  }
  await assert.rejects(fetch(`${origin}/10/gzip`), { code: 'encoded' });
});

test('sends method, headers and body, and returns the status and the type of the response', async (t) => {
  const { origin } = await startServer(t, (request, response) => {
    request.setEncoding('utf8').on('data', (body) => {
      response.writeHead(418, { 'content-type': 'text/plain', 'set-cookie': 'a=b' });
      response.end(`${request.method} ${request.headers.authorization} ${body}`);
    });
  });
  const body = new URLSearchParams({ code: 'ä' });
  const headers = new Headers({ authorization: 'Basic x' });
  const response = await outbound({ loopback: true })(origin, { method: 'POST', headers, body });
  assert.equal(response.status, 418);
  assert.deepEqual([...response.headers], [['content-type', 'text/plain']]);
  assert.equal(await response.text(), 'POST Basic x code=%C3%A4');
});

async function startServer(t: TestContext, listener: RequestListener, host = '127.0.0.1') {
  const server = createServer(listener).listen(0, host);
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return { port, origin: `http://${host}:${port}` };
}
