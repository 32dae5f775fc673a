import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { longAnswersMax } from '../../src/limits.ts';
import { requestText } from '../support/raw-http.ts';
import { fill, items } from './filled-tables.ts';
import { startSharedService } from './shared-service.ts';

const connections = 4;
const waitMsMax = 10_000;

test('refuses to read one more large table while as many as it can hold are on their way, and no longer', async () => {
  const service = await startSharedService();
  // More than sockets and streams take in before anybody reads.
  await fill(service, '/v3/table/large', items(1_200, 10_000));
  const request = requestText(service.origin, 'GET /v3/table/large/read');
  const { port, hostname } = new URL(service.origin);
  const readers = Array.from({ length: connections }, (): Socket => {
    const reader = connect(Number(port), hostname);
    reader.on('error', () => undefined).pause();
    // All but the first wait behind it, each with its snapshot.
    reader.write(request.repeat(longAnswersMax / connections));
    return reader;
  });
  const refused = await until(503, () => service.get('/v3/table/large/read'));
  assert.equal(refused.json.body.error.code, 'overloaded');
  assert.equal(refused.headers.get('retry-after'), '1');
  assert.equal(refused.headers.get('connection'), 'close');
  for (const reader of readers) reader.destroy();
  await until(200, () => service.get('/v3/table/large/read'));
});

async function until<Answer extends { status: number }>(
  status: number,
  ask: () => Promise<Answer>,
): Promise<Answer> {
  const giveUpAt = performance.now() + waitMsMax;
  for (;;) {
    const answer = await ask();
    if (answer.status === status) return answer;
    assert.ok(performance.now() < giveUpAt, `it never answered ${status}, but ${answer.status}`);
    await sleep(20);
  }
}
