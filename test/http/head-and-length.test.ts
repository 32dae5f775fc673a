import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { ask } from '../support/http/exact-response.ts';
import { RawConnection, requestText } from '../support/http/raw-http.ts';
import { startTestService } from '../support/service.ts';
import { fill, items } from '../support/tables/filled-tables.ts';
import { startSharedService } from '../support/tables/shared-service.ts';

const env = { COUNTERFOIL_TABLES: 'declared', COUNTERFOIL_DECLARED_TABLES: 'empty,small,large' };
const service = await startSharedService({ env });
const { origin } = service;
await fill(service, '/v3/table/small', items(3, 10));
await fill(service, '/v3/table/large', items(1_000, 300));

/** One read for each kind of response. The large table is streamed. */
const reads = [
  ...['empty/read', 'small/read', 'large/read', 'small/read?id=item-0000001', 'large/read?limit=3'],
  ...[
    'large/read?after=item-0000007',
    'small/read?id=none',
    'nothing/read',
    'small/read?limit=0',
    'small/read?x=1',
  ],
];

test('HEAD has the status, type, ETag and length of GET, and no body', async () => {
  for (const path of reads) {
    const got = await ask(origin, `GET /v3/table/${path}`);
    const head = await ask(origin, `HEAD /v3/table/${path}`);
    assert.equal(head.status, got.status, path);
    assert.equal(head.bytes.length, 0);
    assert.equal(got.headers.get('content-length'), String(got.bytes.length), path);
    for (const name of ['content-type', 'content-length', 'etag']) {
      assert.equal(head.headers.get(name), got.headers.get(name), `${name} of ${path}`);
    }
  }
});

test('sends no body after the headers of a response to HEAD, and keeps the connection open', async () => {
  const { port, hostname } = new URL(origin);
  const socket = connect(Number(port), hostname);
  for (const path of reads) socket.write(requestText(origin, `HEAD /v3/table/${path}`));
  socket.write(requestText(origin, 'GET /livez', { Connection: 'close' }));
  const all = (await text(socket)).split('\r\n\r\n');
  assert.equal(all.length, reads.length + 2, 'one head after the other, and one body');
  assert.equal(all.at(-1), '{"statusCode":200,"body":{"status":"alive"}}');
  assert.ok(all.slice(0, -1).every((head) => head.startsWith('HTTP/1.1 ')));
});

test('HEAD returns 304 like GET, without Content-Length', async () => {
  for (const path of ['small/read', 'large/read', 'small/read?id=item-0000001']) {
    const tag = (await ask(origin, `GET /v3/table/${path}`)).headers.get('etag') as string;
    const head = await ask(origin, `HEAD /v3/table/${path}`, { 'If-None-Match': tag });
    assert.equal(head.status, 304);
    assert.equal(head.headers.get('etag'), tag);
    // RFC 9110, 8.6: in a 304 it would have to be the length of the 200.
    assert.equal(head.headers.get('content-length'), undefined);
    const changed = await ask(origin, `HEAD /v3/table/${path}`, { 'If-None-Match': '"x"' });
    assert.equal(changed.status, 200);
  }
});

test('responds to pipelined requests completely and in order', async () => {
  const paths = [
    'large/read',
    'small/read',
    'large/read?limit=2',
    'large/read',
    'small/read?id=x',
    'empty/read',
  ];
  const connection = await RawConnection.open(origin);
  const lines = paths.map((path) => `GET /v3/table/${path}`);
  connection.send(lines.map((line) => requestText(origin, line)).join(''));
  for (const line of lines) {
    const alone = await ask(origin, line);
    const response = await connection.response();
    assert.equal(response.status, alone.status);
    if (alone.status === 200) assert.equal(response.text, alone.text);
  }
  connection.close();
});

test('sends the Content-Length of a large table, and exactly this many bytes', async (t) => {
  const path = 'GET /v3/table/large/read';
  const hard = ['\u0000', '"\\', 'é', '🔑', '\u2028', '\u{10ffff}'].map((id) => ({
    id,
    name: id.repeat(50),
  }));
  const changes = [
    async () => fill(service, '/v3/table/large', hard),
    async () =>
      fill(
        service,
        '/v3/table/large',
        hard.map(({ id }) => ({ id, name: 'x' })),
        'update',
      ),
    async () => service.send('DELETE', '/v3/table/large/delete', { id: 'item-0000500' }),
    async () => service.send('DELETE', '/v3/table/large/delete', { id: '\u0000' }),
    async () => service.send('PUT', '/v3/table/large/update', { id: '🔑', name: '\u0001'.repeat(70_000) }),
    async () => service.send('DELETE', '/v3/table/large/delete', { id: '\u{10ffff}' }),
  ];
  for (const change of changes) {
    await change();
    const response = await ask(service.origin, path);
    assert.ok(response.isWhole);
    assert.equal(response.headers.get('content-length'), String(response.bytes.length));
    assert.equal(response.headers.get('transfer-encoding'), undefined);
    assert.equal(response.json.statusCode, 200);
    const head = await ask(service.origin, path.replace('GET', 'HEAD'));
    assert.equal(head.headers.get('content-length'), String(response.bytes.length));
  }
  await service.stop();
  const again = await startTestService(t, { data: service.data });
  const response = await ask(again.origin, path);
  assert.equal(response.headers.get('content-length'), String(response.bytes.length));
});
