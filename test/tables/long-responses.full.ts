import assert from 'node:assert/strict';
import { get } from 'node:http';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { longResponsesPerAddressMax } from '../../src/http/limits.ts';
import { requestText } from '../support/http/raw-http.ts';
import { fill, items } from '../support/tables/filled-tables.ts';
import { startSharedService } from '../support/tables/shared-service.ts';

const waitMsMax = 30_000;

test('refuses an address one more large table while as many as it may have are on their way, and no longer', async () => {
  const service = await startSharedService();
  // More than sockets and streams take in before anybody reads.
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
    // It takes the place that the last question had.
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
    'others are served',
  );
  for (const reader of readers) reader.destroy();
  await until(200, () => service.get('/v3/table/large/read'));
});

function statusFrom(localAddress: string, url: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const asked = get(url, { localAddress, agent: false }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode));
    });
    asked.once('error', reject);
  });
}

async function until<Answer extends { status: number }>(
  status: number,
  ask: () => Promise<Answer>,
): Promise<Answer> {
  const giveUpAt = performance.now() + waitMsMax;
  for (;;) {
    const response = await ask();
    if (response.status === status) return response;
    assert.ok(performance.now() < giveUpAt, `it never answered ${status}, but ${response.status}`);
    await sleep(20);
  }
}
