import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { givenUpMs } from '../support/busy-machine.ts';
import { ask } from '../support/http/exact-response.ts';
import { requestText } from '../support/http/raw-http.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { fill, items } from '../support/tables/filled-tables.ts';
import { fileBytes, GrowingStore } from '../support/tables/growing-store.ts';

const path = '/v3/table/large/read';
/** More than sockets and streams buffer when the client reads nothing. */
const large = items(1_200, 10_000);
const megabyte = 1024 * 1024;
/** Small, so that the test is fast. */
const growthBytesMax = 8 * megabyte;
const boundedAfterMs = 200;

async function start(t: TestContext, boundedAfter = boundedAfterMs) {
  const service = await startTestService(t, {
    snapshots: { growthBytesMax, boundedAfterMs: boundedAfter },
  });
  await fill(service, '/v3/table/large', large);
  return { service, store: await GrowingStore.of(service) };
}

/** Reads the beginning of the response, and no more until `rest`. */
async function beginReading({ origin }: TestService): Promise<{ rest(): Promise<Buffer>; socket: Socket }> {
  const { port, hostname } = new URL(origin);
  const socket = connect(Number(port), hostname);
  const chunks: Buffer[] = [];
  socket.on('error', () => undefined);
  socket.write(requestText(origin, `GET ${path}`, { 'Accept-Encoding': 'identity', Connection: 'close' }));
  await new Promise<void>((resolve) => socket.once('readable', () => resolve()));
  return {
    socket,
    rest: async () => {
      socket.on('data', (data: Buffer) => chunks.push(data));
      await new Promise((resolve) => socket.once('close', resolve));
      return Buffer.concat(chunks);
    },
  };
}

const readsCutOff = async ({ origin }: TestService) =>
  Number(
    /^counterfoil_store_reads_cut_off_total (\d+)$/m.exec((await ask(origin, 'GET /metrics')).text)?.[1],
  );

test('breaks off a slow read when the file has grown too much meanwhile, so that it stops growing', async (t) => {
  const { service, store } = await start(t);
  const before = fileBytes(service);
  const slow = await Promise.all(Array.from({ length: 4 }, () => beginReading(service)));
  const giveUpAt = performance.now() + givenUpMs;
  while ((await readsCutOff(service)) < slow.length && performance.now() < giveUpAt) await store.growthIn(2);
  assert.equal(await readsCutOff(service), slow.length);
  assert.ok(fileBytes(service) - before > growthBytesMax, 'no read is broken off before');
  // The pages of the snapshots are used again.
  await store.growthIn(2);
  const growth = await store.growthIn(8);
  assert.ok(growth < megabyte, `grown by ${growth} bytes more`);
  for (const { rest } of slow) {
    const received = (await rest()).toString();
    assert.match(received, /^HTTP\/1\.1 200 /);
    assert.ok(!received.endsWith(']}'), 'the response is incomplete');
  }
  const lines = service.logged().match(/.*the file of the store grew too much.*/g) ?? [];
  assert.ok(lines.length > 0 && lines.length <= slow.length, `${lines.length} lines`);
  assert.match(lines[0] ?? '', /"code":"unavailable"/);
  const again = await ask(service.origin, `GET ${path}`);
  assert.equal(again.json.body.length, large.length, 'the table can be read again');
});

test('completes a slow read while the file does not grow, and a read in its first seconds', async (t) => {
  for (const [what, boundedAfter, rounds] of [
    ['a quiet store', boundedAfterMs, 0],
    ['a young read', 10 * givenUpMs, 12],
  ] as const) {
    const { service, store } = await start(t, boundedAfter);
    const slow = await beginReading(service);
    const growth = await store.growthIn(rounds);
    assert.equal(growth > growthBytesMax, rounds > 0, `grown by ${growth} bytes`);
    await sleep(3 * boundedAfterMs);
    const received = (await slow.rest()).toString();
    assert.ok(received.endsWith(']}'), what);
    assert.equal(await readsCutOff(service), 0);
    await service.stop();
  }
});
