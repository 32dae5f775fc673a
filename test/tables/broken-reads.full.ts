import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { ServiceError } from '../../src/errors.ts';
import type { Scan } from '../../src/storage/engine.ts';
import { givenUpMs } from '../support/busy-machine.ts';
import { assertError } from '../support/http/error-response.ts';
import { ask, type ExactResponse } from '../support/http/exact-response.ts';
import { requestText } from '../support/http/raw-http.ts';
import { type AppOverEngine, openAppOver, readChunks, scanOf } from '../support/tables/app-over.ts';
import { items } from '../support/tables/filled-tables.ts';

/**
 * An engine that fails while a table is read. The client must notice it: a partial response must not look complete.
 */
const all = readChunks(items(40, 20_000));
const canary = 'canary-in-an-exception';
const failures = {
  'an unforeseen error': new Error(canary),
  'a ServiceError': new ServiceError('unavailable'),
};
const decoders = { gzip: gunzipSync, zstd: zstdDecompressSync };
const read = 'GET /v3/table/books/read';

/**
 * The number of chunks before the failure. The last one is the number of all chunks, so that only the end is missing.
 */
const failingAfter = [1, 20, all.length];

for (const coding of ['identity', 'gzip', 'zstd'] as const) {
  for (const [what, error] of Object.entries(failures)) {
    test(`closes the connection when ${what} ends a read (${coding})`, async (t) => {
      let broken = 0;
      let chunks: () => Scan['chunks'] = () => [];
      const app = await openAppOver(t, { scan: async () => scanOf(all, chunks()) });
      for (const make of [syncChunks, asyncChunks]) {
        for (const after of failingAfter) {
          chunks = () => make(after, error);
          const response = await ask(app.origin, read, { 'Accept-Encoding': coding }).catch(isHangUp);
          // If nothing of a compressed response has been sent yet, the error itself may be the response.
          if (response !== undefined && response.status >= 500) continue;
          if (response !== undefined) assertBroken(response, coding);
          broken++;
        }
      }
      assert.ok(broken >= failingAfter.length, 'most of the failures happened in the middle of a response');
    });
  }
}

test('does not send a failed read to an HTTP/1.0 client as a complete response', async (t) => {
  let chunks: () => Scan['chunks'] = () => [];
  const app = await openAppOver(t, { scan: async () => scanOf(all, chunks()) });
  for (const coding of ['identity', 'gzip', 'zstd'] as const) {
    let broken = 0;
    for (const after of failingAfter) {
      chunks = () => asyncChunks(after, new Error(canary));
      const bytes = await allThatComes(app.origin, coding);
      const bodyAt = bytes.indexOf('\r\n\r\n') + 4;
      if (bytes.toString('latin1', 9, 12) !== '200') continue;
      assertNoJson(bytes.subarray(bodyAt), coding);
      broken++;
    }
    assert.ok(broken > 0, 'some of the failures happened in the middle of a response');
  }
});

test('returns the error in the envelope when a read fails before the first item', async (t) => {
  for (const make of [syncChunks, asyncChunks]) {
    const unforeseen = await openAppOver(t, { scan: async () => scanOf(all, make(0, new Error(canary))) });
    const response = await ask(unforeseen.origin, read);
    assertError(response, { status: 500, code: 'internal' });
    assert.ok(!`${response.text}${unforeseen.logged()}`.includes(canary));
    const known = await openAppOver(t, {
      scan: async () => scanOf(all, make(0, new ServiceError('unavailable'))),
    });
    assertError(await ask(known.origin, read), { status: 503, code: 'unavailable' });
  }
});

test('returns an error for a page or an item that fails, and never a part of it', async (t) => {
  for (const make of [syncChunks, asyncChunks]) {
    const app = await openAppOver(t, {
      scan: async () => scanOf(all, make(5, new Error(canary))),
      get: async () => Promise.reject(new ServiceError('unavailable')),
      describe: async () => Promise.reject(new ServiceError('unavailable')),
    });
    for (const query of ['limit=100', 'after=a', 'limit=6']) {
      assertError(await ask(app.origin, `${read}?${query}`), { status: 500, code: 'internal' });
    }
    assertError(await ask(app.origin, `${read}?id=a`), { status: 503, code: 'unavailable' });
    const conditional = await ask(app.origin, read, { 'If-None-Match': '"x"' });
    assertError(conditional, { status: 503, code: 'unavailable' });
  }
});

test('logs that a read has failed after its beginning, without the message of the error', async (t) => {
  for (const coding of ['identity', 'gzip']) {
    const app = await openAppOver(t, {
      scan: async () => scanOf(all, asyncChunks(30, new Error(canary))),
    });
    const response = await ask(app.origin, read, { 'Accept-Encoding': coding });
    assert.equal(response.status, 200);
    assert.ok(!response.isWhole);
    assert.ok(!app.logged().includes(canary));
    assert.match(app.logged(), /"level":"error".*"event":"unforeseen_error"/, coding);
  }
});

test('closes a scan that is not read to its end, however the read ends', async (t) => {
  for (const coding of ['identity', 'gzip']) {
    for (const bytesRead of [0, 1, 100_000]) {
      const scans: CountingChunks[] = [];
      const app = await openAppOver(t, {
        scan: async () => {
          const chunks = new CountingChunks();
          scans.push(chunks);
          return scanOf(all, chunks);
        },
      });
      for (let n = 0; n < 10; n++) await hangUpAfter(app, bytesRead, coding);
      // A scan that began before the service noticed the closed connection must be closed too.
      await ask(app.origin, `${read}?limit=1`);
      await until(() => scans.every(({ isLeft }) => isLeft));
      assert.ok(scans.length > 0);
    }
  }
});

/** The connection was closed before the first byte of the response. */
function isHangUp({ code }: NodeJS.ErrnoException): undefined {
  assert.equal(code, 'ECONNRESET');
}

/** Reads to the end of the connection, even if that is a reset. */
async function allThatComes(origin: string, coding: string): Promise<Buffer> {
  const { port, hostname } = new URL(origin);
  const socket = connect(Number(port), hostname);
  socket.write(requestText(origin, read, { 'Accept-Encoding': coding }).replace('/1.1', '/1.0'));
  const chunks: Buffer[] = [];
  socket.on('data', (data: Buffer) => chunks.push(data)).on('error', () => undefined);
  await new Promise((resolve) => socket.once('close', resolve));
  return Buffer.concat(chunks);
}

function assertBroken(response: ExactResponse, coding: 'identity' | 'gzip' | 'zstd'): void {
  assert.equal(response.status, 200);
  assert.ok(!response.isWhole, 'the connection ends before the response is complete');
  const length = response.headers.get('content-length');
  assert.ok(length === undefined || Number(length) > response.bytes.length);
  assertNoJson(response.bytes, coding);
}

function assertNoJson(bytes: Buffer, coding: 'identity' | 'gzip' | 'zstd'): void {
  assert.ok(!bytes.includes(canary), 'the message of the error is not sent');
  assert.throws(() => {
    const text = coding === 'identity' ? bytes : decoders[coding](bytes);
    JSON.parse(text.toString());
  }, 'the partial response is not valid JSON');
}

function* syncChunks(count: number, error: Error): Generator<Buffer> {
  yield* all.slice(0, count);
  throw error;
}

async function* asyncChunks(count: number, error: Error): AsyncGenerator<Buffer> {
  for (const chunk of all.slice(0, count)) {
    await new Promise((resolve) => setImmediate(resolve));
    yield chunk;
  }
  throw error;
}

/** Endless chunks that record whether the iteration was ended early. */
class CountingChunks implements IterableIterator<Buffer> {
  isLeft = false;
  #next = 0;

  [Symbol.iterator](): this {
    return this;
  }

  next(): IteratorResult<Buffer> {
    return { done: false, value: all[this.#next++ % all.length] as Buffer };
  }

  return(): IteratorResult<Buffer> {
    this.isLeft = true;
    return { done: true, value: undefined };
  }
}

async function hangUpAfter({ origin }: AppOverEngine, bytes: number, coding: string): Promise<void> {
  const { port, hostname } = new URL(origin);
  const socket = connect(Number(port), hostname);
  let received = 0;
  await new Promise<void>((resolve) => {
    socket.once('connect', () => {
      socket.write(requestText(origin, read, { 'Accept-Encoding': coding }), () => {
        if (bytes === 0) socket.resetAndDestroy();
      });
    });
    socket.on('data', (data: Buffer) => {
      received += data.length;
      if (received >= bytes) socket.destroy();
    });
    socket.once('close', () => resolve());
    socket.once('error', () => undefined);
  });
}

async function until(holds: () => boolean): Promise<void> {
  const giveUpAt = Date.now() + givenUpMs;
  while (!holds()) {
    assert.ok(Date.now() < giveUpAt, `it did not happen within ${givenUpMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
