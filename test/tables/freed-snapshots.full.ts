import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { journalSizeMax } from '../../src/storage/lmdb/limits.ts';
import { busyMachineMs } from '../support/busy-machine.ts';
import { ask } from '../support/http/exact-response.ts';
import { requestText } from '../support/http/raw-http.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { fill, items } from '../support/tables/filled-tables.ts';
import { fileBytes, GrowingStore } from '../support/tables/growing-store.ts';

const path = '/v3/table/large/read';
/** More than sockets and streams buffer when the client reads nothing. */
const large = items(1_200, 10_000);
const rounds = 8;
/** While a snapshot is held, these rounds add several times as much; otherwise they add nothing. */
const growthBytesMax = 2 * 1024 * 1024;

/** Ways in which a read ends early, or reads no table. After each of them, the store must reuse its pages again. */
const endings: Readonly<Record<string, (service: TestService) => Promise<unknown>>> = {
  'hanging up in the middle': async (service) => {
    for (const coding of ['identity', 'gzip']) {
      for (const end of ['destroy', 'resetAndDestroy'] as const) {
        const socket = await begun(service, [coding]);
        socket[end]();
      }
    }
  },
  'hanging up in the middle of several responses on one connection': async (service) => {
    const socket = await begun(service, ['identity', 'gzip', 'identity', 'zstd']);
    socket.destroy();
  },
  'hanging up before the first byte, many times': async (service) => {
    for (let wave = 0; wave < 4; wave++) {
      const sockets = await Promise.all(Array.from({ length: 40 }, () => connected(service)));
      for (const [index, socket] of sockets.entries()) {
        socket.write(
          request(service, index % 2 === 0 ? 'identity' : 'gzip').slice(0, index % 8 === 0 ? -2 : undefined),
        );
        if (index % 4 < 2) socket.destroy();
        else setImmediate(() => socket.resetAndDestroy());
      }
    }
  },
  'hanging up while the request is served, before its response begins': async (service) => {
    for (let turns = 0; turns < 100; turns++) {
      const sockets = await Promise.all(Array.from({ length: 4 }, () => connected(service)));
      for (const [index, socket] of sockets.entries())
        socket.write(request(service, index % 2 === 0 ? 'identity' : 'gzip'));
      for (let turn = 0; turn < turns % 20; turn++) await nextTurn();
      for (const socket of sockets) socket.resetAndDestroy();
    }
  },
  'pages, one item, HEAD, 304, and reading to the end': async ({ origin }) => {
    for (let n = 0; n < 10; n++) {
      await ask(origin, `GET ${path}?limit=1`);
      await ask(origin, `GET ${path}?limit=1000&after=item-0000100`);
      await ask(origin, `GET ${path}?id=item-0000100`);
      await ask(origin, `HEAD ${path}`, { 'Accept-Encoding': 'gzip' });
      await ask(origin, `GET ${path}`, { 'If-None-Match': '*' });
    }
    assert.ok((await ask(origin, `GET ${path}`)).isWhole);
  },
};

/** The service notices a closed connection in a later turn of its event loop, which may come late. */
async function assertStopsGrowing(store: GrowingStore): Promise<void> {
  const until = performance.now() + busyMachineMs;
  let growth = await store.growthIn(rounds);
  while (growth >= growthBytesMax && performance.now() < until) growth = await store.growthIn(rounds);
  assert.ok(growth < growthBytesMax, `the store grew by ${growth} bytes`);
}

test('frees the snapshot of a read, however it ends, so that the store does not grow', async (t) => {
  const service = await startTestService(t);
  await fill(service, '/v3/table/large', large);
  const store = await GrowingStore.of(service);
  for (const [what, end] of Object.entries(endings)) {
    await t.test(what, async () => {
      await end(service);
      await assertStopsGrowing(store);
    });
  }
  await t.test('the snapshot is held while a slow client reads, and then freed', async () => {
    const socket = await begun(service, ['identity']);
    const held = await store.growthIn(rounds);
    assert.ok(held > growthBytesMax, `a held snapshot makes the store grow: ${held} bytes`);
    socket.destroy();
    await assertStopsGrowing(store);
  });
});

test('does not let the store grow while the same few items are written repeatedly', async (t) => {
  const service = await startTestService(t);
  const few = items(30, 4_000);
  await fill(service, '/v3/table/few', few);
  const began = fileBytes(service);
  // These are 24 MB of writes; the table has 0.12 MB at the end, and the file room for the journal.
  for (let round = 0; round < 200; round++) await fill(service, '/v3/table/few', few, 'update');
  const growth = fileBytes(service) - began;
  assert.ok(growth < 2 * journalSizeMax, `the store grew by ${growth} bytes`);
});

function request({ origin }: TestService, coding: string): string {
  return requestText(origin, `GET ${path}`, { 'Accept-Encoding': coding });
}

async function connected({ origin }: TestService): Promise<Socket> {
  const { port, hostname } = new URL(origin);
  const socket = connect(Number(port), hostname);
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  socket.on('error', () => undefined);
  return socket;
}

/** Sends requests, reads the beginning of the first response, and stops reading. */
async function begun(service: TestService, codings: readonly string[]): Promise<Socket> {
  const socket = await connected(service);
  socket.write(codings.map((coding) => request(service, coding)).join(''));
  await new Promise<void>((resolve) => socket.once('data', () => resolve()));
  socket.pause();
  return socket;
}
