import assert from 'node:assert/strict';
import { get } from 'node:http';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { longResponsesPerAddressMax } from '../../src/http/response/stream-items.ts';
import { givenUpMs } from '../support/busy-machine.ts';
import { requestText } from '../support/http/raw-http.ts';
import { fill, items } from '../support/tables/filled-tables.ts';
import { startSharedService } from '../support/tables/shared-service.ts';

test('rejects a large read of an address that has the maximum in progress, until they have ended', async () => {
  const service = await startSharedService();
  // More than sockets and streams buffer when the client reads nothing.
  await fill(service, '/v3/table/large', items(2_400, 10_000));
  const request = requestText(service.origin, 'GET /v3/table/large/read');
  const { port, hostname } = new URL(service.origin);
  const newReader = (): Socket => {
    const reader = connect(Number(port), hostname);
    reader.on('error', () => undefined).pause();
    reader.write(request);
    return reader;
  };
  const readers = Array.from({ length: longResponsesPerAddressMax }, newReader);
  const rejected = await until(503, async () => {
    // It takes the place of the previous request.
    readers.push(newReader());
    await sleep(100);
    return service.get('/v3/table/large/read');
  });
  assert.equal(rejected.json.body.error.code, 'overloaded');
  assert.equal(rejected.headers.get('retry-after'), '1');
  assert.equal(rejected.headers.get('connection'), 'close');
  assert.equal(
    await statusFrom('127.0.0.2', `${service.origin}/v3/table/large/read`),
    200,
    'other addresses are served',
  );
  for (const reader of readers) reader.destroy();
  await until(200, () => service.get('/v3/table/large/read'));
});

function statusFrom(localAddress: string, url: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sent = get(url, { localAddress, agent: false }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode));
    });
    sent.once('error', reject);
  });
}

async function until<Response extends { status: number }>(
  status: number,
  send: () => Promise<Response>,
): Promise<Response> {
  const giveUpAt = performance.now() + givenUpMs;
  for (;;) {
    const response = await send();
    if (response.status === status) return response;
    assert.ok(performance.now() < giveUpAt, `it never returned ${status}, but ${response.status}`);
    await sleep(20);
  }
}
