import assert from 'node:assert/strict';
import { subscribe } from 'node:diagnostics_channel';
import { connect, type Socket } from 'node:net';
import { suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { responseStallMsMax } from '../../src/http/server/slow-connections.ts';
import { busyMachineMs } from '../support/busy-machine.ts';
import { isLong } from '../support/extent.ts';
import { RawConnection, requestText } from '../support/http/raw-http.ts';
import type { TestService } from '../support/service.ts';
import { fill, items } from '../support/tables/filled-tables.ts';
import { startSharedService } from '../support/tables/shared-service.ts';

/** How long a reader may stall. The real bound would take too long for every run. */
const stallMs = isLong ? responseStallMsMax : 2_000;
/** A reader stalls only when the socket buffers are full; a slow engine needs time to fill them. */
/**
 * A rate at which the system's buffer has room for more only after longer than a reader may stall: the documents promise 20 KB/s for
 * the real bound.
 */
const slowBytesPerSecond = (20_000 * responseStallMsMax) / stallMs;
const cutOffMsMax = stallMs * 2.5 + 12 * busyMachineMs;

const service = await startSharedService({ responseStallMs: stallMs });

/** The client ports of connections that the service has closed. */
const closedPorts = new Set<number>();
const seen = new WeakSet<Socket>();
subscribe('http.server.request.start', (message) => {
  const { socket } = message as { readonly socket: Socket };
  const { localPort, remotePort } = socket;
  // The services of other test files may run in this process.
  if (seen.has(socket) || `${localPort}` !== new URL(service.origin).port) return;
  seen.add(socket);
  socket.once('close', () => closedPorts.add(remotePort as number));
});

/** More than sockets and streams buffer when the client reads nothing. */
const large = items(1_200, 10_000);
await fill(service, '/v3/table/large', large);
await fill(service, '/v3/table/medium', large.slice(0, 20));

suite('a read whose reader is slow', { concurrency: true }, () => {
  for (const coding of ['identity', 'gzip']) {
    test(`is aborted when the reader reads nothing (${coding})`, async () => {
      const reading = await SlowReading.begin(service, coding);
      await assertCutOff(reading, cutOffMsMax);
    });
  }

  const sent = {
    'one request after the other': () => requestText(service.origin, 'GET /livez'),
    'one more request, byte by byte': (n: number) => 'GET /livez HTTP/1.1\r\nX-A: '[n] ?? 'a',
  };
  for (const [what, piece] of Object.entries(sent)) {
    test(`is aborted when the reader reads nothing, even if it sends ${what}`, async () => {
      const reading = await SlowReading.begin(service, 'identity');
      let n = 0;
      const sending = setInterval(() => reading.send(piece(n++)), stallMs / 4);
      await assertCutOff(reading, cutOffMsMax).finally(() => clearInterval(sending));
    });
  }

  test('is completed when the reader reads slowly and steadily, however much the system buffers for it', async () => {
    const reading = await SlowReading.begin(service, 'identity');
    const began = performance.now();
    while (performance.now() < began + 6 * stallMs) {
      await reading.readMore(1);
      const dueAt = began + (reading.bytes / slowBytesPerSecond) * 1_000;
      await sleep(Math.max(1, dueAt - performance.now()));
    }
    assert.ok(!reading.isClosedByService, 'the connection is open');
    await reading.readToEnd();
    assert.ok(reading.isWhole);
  });

  test('is completed when the reader reads something now and then', async () => {
    const reading = await SlowReading.begin(service, 'identity');
    for (let n = 0; n < 12; n++) {
      await reading.readMore(800_000);
      await sleep(stallMs / 4);
    }
    await reading.readToEnd();
    assert.ok(reading.isWhole);
  });

  test('keeps its connection open for the next request, for longer than a reader may stall', async () => {
    const connection = await RawConnection.open(service.origin);
    connection.send(requestText(service.origin, 'GET /v3/table/medium/read'));
    assert.equal((await connection.response()).json.body.length, 20);
    await sleep(stallMs * 1.5);
    connection.send(requestText(service.origin, 'GET /livez'));
    assert.equal((await connection.response()).status, 200);
    connection.close();
  });
});

test('writes nothing into a response in progress when the rest of its request is malformed', async () => {
  const { port, hostname } = new URL(service.origin);
  const socket = connect(Number(port), hostname);
  const chunked = { 'Transfer-Encoding': 'chunked' };
  socket.write(requestText(service.origin, 'GET /v3/table/large/read', chunked));
  const chunks: Buffer[] = [];
  await new Promise<void>((resolve) => socket.once('data', () => resolve()));
  socket.pause();
  socket.write('this is no chunk\r\n');
  await sleep(100);
  socket.on('data', (data: Buffer) => chunks.push(data)).on('error', () => undefined);
  socket.resume();
  await new Promise((resolve) => socket.once('close', resolve));
  const received = Buffer.concat(chunks);
  assert.ok(!received.includes('HTTP/1.1 '), 'a second response is in the middle of the first');
});

test('logs no connection that it has cut off as an error', () => {
  assert.doesNotMatch(service.logged(), /unforeseen_error/);
});

test('completes a read that is in progress when the service is stopped', async () => {
  const reading = await SlowReading.begin(service, 'identity');
  const stopped = service.stop();
  await sleep(100);
  await reading.readToEnd();
  assert.ok(reading.isWhole);
  await stopped;
});

async function assertCutOff(reading: SlowReading, withinMs: number): Promise<void> {
  const giveUpAt = performance.now() + withinMs;
  while (!reading.isClosedByService && performance.now() < giveUpAt) await sleep(5);
  const wasClosed = reading.isClosedByService;
  // The bytes in the socket buffers still arrive.
  await reading.readToEnd();
  assert.ok(wasClosed, `the connection is closed within ${withinMs} ms`);
  assert.ok(!reading.isWhole, 'the response is incomplete');
}

/** Reads the large table as slowly as a test wants. */
class SlowReading {
  readonly #socket: Socket;
  /** Stored here, because a closed socket does not have it. */
  readonly #port: number | undefined;
  #head = '';
  #isInBody = false;
  #bodyBytes = 0;
  #lastBytes = Buffer.alloc(0);
  #isEnded = false;
  #bytesWanted = 0;

  private constructor(socket: Socket) {
    this.#socket = socket;
    this.#port = socket.localPort;
    socket.on('data', (data: Buffer) => this.#take(data));
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.#isEnded = true;
    });
  }

  /** Sends the request, and reads a little of the response. */
  static async begin({ origin }: TestService, coding: string): Promise<SlowReading> {
    const { port, hostname } = new URL(origin);
    const socket = connect(Number(port), hostname);
    await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    const reading = new SlowReading(socket);
    reading.send(requestText(origin, 'GET /v3/table/large/read', { 'Accept-Encoding': coding }));
    await reading.readMore(1);
    return reading;
  }

  send(text: string): void {
    this.#socket.write(text);
  }

  async readMore(bytes: number): Promise<void> {
    this.#bytesWanted = this.#bodyBytes + bytes;
    this.#socket.resume();
    while (this.#bodyBytes < this.#bytesWanted && !this.#isEnded && !this.isWhole) await sleep(1);
    this.#socket.pause();
  }

  async readToEnd(): Promise<void> {
    await this.readMore(Number.POSITIVE_INFINITY);
    this.#socket.destroy();
  }

  get bytes(): number {
    return this.#bodyBytes;
  }

  get isClosedByService(): boolean {
    return this.#port !== undefined && closedPorts.has(this.#port);
  }

  get isWhole(): boolean {
    const length = /\r\ncontent-length: (\d+)/i.exec(this.#head)?.[1];
    // A compressed response is chunked, and its last chunk is empty.
    return length === undefined
      ? this.#lastBytes.toString('latin1') === '\r\n0\r\n\r\n'
      : this.#bodyBytes >= Number(length);
  }

  #take(data: Buffer): void {
    const body = this.#isInBody ? data : this.#bodyBehindHead(data);
    this.#bodyBytes += body.length;
    this.#lastBytes = Buffer.concat([this.#lastBytes, body.subarray(-7)]).subarray(-7);
    if (this.#bodyBytes >= this.#bytesWanted) this.#socket.pause();
  }

  #bodyBehindHead(data: Buffer): Buffer {
    const headBytes = this.#head.length;
    this.#head += data.toString('latin1');
    const headEnd = this.#head.indexOf('\r\n\r\n');
    if (headEnd < 0) return data.subarray(data.length);
    this.#isInBody = true;
    this.#head = this.#head.slice(0, headEnd);
    return data.subarray(headEnd + 4 - headBytes);
  }
}
