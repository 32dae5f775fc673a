import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { compressedBytesMin } from '../../src/http/response/stream-items.ts';
import { smallSpaceBytesMax } from '../../src/storage/lmdb/limits.ts';
import {
  type Coding,
  codings,
  decoders,
  fillTables,
  read,
  startWithTables,
  tableNames,
  tables,
} from '../support/http/compressible-tables.ts';
import { ask } from '../support/http/exact-response.ts';
import { requestText } from '../support/http/raw-http.ts';
import { startTestService } from '../support/service.ts';
import { fill } from '../support/tables/filled-tables.ts';

const service = await startWithTables();

test('compresses a table when the client accepts it, and it decodes to the uncompressed response', async () => {
  for (const table of tableNames) {
    const plain = await read(service, table);
    assert.equal(plain.headers.get('content-encoding'), undefined);
    assert.equal(plain.json.body.length, tables[table]);
    for (const coding of codings) {
      const response = await read(service, table, coding);
      assert.equal(response.status, 200);
      assert.ok(response.isWhole);
      assert.equal(response.headers.get('content-encoding'), coding);
      assert.equal(response.headers.get('content-type'), 'application/json');
      assert.equal(decoders[coding](response.bytes).toString(), plain.text);
      assert.ok(response.bytes.length < plain.bytes.length);
    }
  }
});

test('compresses items of 1 KiB and more, and no smaller ones', async () => {
  const empty = Buffer.byteLength(JSON.stringify({ id: 'a', name: '' }));
  for (const [bytes, isCompressed] of [
    [empty, false],
    [compressedBytesMin - 1, false],
    [compressedBytesMin, true],
    [smallSpaceBytesMax, true],
    [smallSpaceBytesMax + 1, true],
  ] as const) {
    const table = `of-${bytes}-bytes`;
    const name = nameOf(bytes - empty);
    await fill(service, `/v3/table/${table}`, [{ id: 'a', name }]);
    for (const coding of codings) {
      const response = await ask(service.origin, `GET /v3/table/${table}/read`, {
        'Accept-Encoding': coding,
      });
      assert.equal(response.headers.get('content-encoding'), isCompressed ? coding : undefined, table);
      const text = isCompressed ? decoders[coding](response.bytes).toString() : response.text;
      assert.deepEqual(JSON.parse(text).body, [{ id: 'a', name }]);
    }
  }
});

/** The coding that is chosen for a value of Accept-Encoding (RFC 9110, 12.5.3). */
const chosenCodings: Readonly<Record<string, Coding | 'identity'>> = {
  gzip: 'gzip',
  zstd: 'zstd',
  GZip: 'gzip',
  'gzip, deflate': 'gzip',
  'gzip, deflate, br, zstd': 'zstd',
  'deflate, br': 'identity',
  '': 'identity',
  identity: 'identity',
  'gzip;q=1.0': 'gzip',
  'gzip;q=0': 'identity',
  'gzip;q=0.000, zstd;q=0.0': 'identity',
  'zstd;q=0, gzip;q=0.001': 'gzip',
  'zstd;q=0.5, gzip;q=0.8': 'gzip',
  'gzip;q=0.5, zstd;q=0.8': 'zstd',
  'zstd;q=0.9,gzip': 'gzip',
  'gzip ; q=0.3 , zstd ; Q=0.2': 'gzip',
  '\tgzip;\tq=1': 'gzip',
  'gzip;q=0, *': 'identity',
  'xgzip, gzipx': 'identity',
  '*;q=0': 'identity',
  'gzip;level=9;q=0': 'identity',
  'gzip;q=nonsense': 'identity',
};

test('chooses the coding by Accept-Encoding and its weights', async (t) => {
  for (const [accepted, coding] of Object.entries(chosenCodings)) {
    await t.test(accepted || 'an empty value', async () => {
      const response = await read(service, 'medium', accepted);
      assert.equal(response.headers.get('content-encoding') ?? 'identity', coding);
    });
  }
  const { origin } = service;
  const twice = await ask(origin, 'GET /v3/table/medium/read', { 'Accept-Encoding': ['br', 'gzip'] });
  assert.equal(twice.headers.get('content-encoding'), 'gzip', 'two header lines form one list');
});

test('sends a table uncompressed when the client prefers identity', async () => {
  for (const accepted of ['identity, gzip;q=0.5', 'identity;q=0.8, gzip;q=0.5, zstd;q=0.7']) {
    assert.equal((await read(service, 'medium', accepted)).headers.get('content-encoding'), undefined);
  }
});

test('sends a complete table to an HTTP/1.0 client, which reads until the connection closes', async (t) => {
  // Without keys, a service takes it for a proxy.
  const env = { COUNTERFOIL_TRUSTED_PROXIES: '127.0.0.1' };
  const proxied = await startTestService(t, { env });
  await fillTables(proxied);
  const plain = await read(proxied, 'large', undefined, proxied.keyHeader);
  for (const coding of ['identity', ...codings]) {
    const { port, hostname } = new URL(proxied.origin);
    const socket = connect(Number(port), hostname);
    const headers = { ...proxied.keyHeader, 'Accept-Encoding': coding };
    const request = requestText(proxied.origin, 'GET /v3/table/large/read', headers);
    socket.write(request.replace('HTTP/1.1', 'HTTP/1.0'));
    const bytes = await buffer(socket);
    const bodyAt = bytes.indexOf('\r\n\r\n') + 4;
    const head = bytes.toString('latin1', 0, bodyAt).toLowerCase();
    assert.ok(!head.includes('transfer-encoding'), 'HTTP/1.0 has no chunked encoding');
    const body = bytes.subarray(bodyAt);
    const text = coding === 'identity' ? body : decoders[coding as Coding](body);
    assert.equal(text.toString(), plain.text);
  }
});

/** A name of this number of bytes, with fewer characters. */
function nameOf(bytes: number): string {
  return 'é'.repeat(bytes >> 1).padEnd(bytes - (bytes >> 1), 'x');
}
