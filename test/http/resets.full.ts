import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { count, isLong } from '../support/extent.ts';
import { create, readPath } from '../support/http/documented-operations.ts';
import { exchange, requestText } from '../support/http/raw-http.ts';
import { requestKinds } from '../support/http/request-kinds.ts';
import { newData, ServeProcess } from '../support/serve-process.ts';

/** The distance in bytes between two resets of a request. */
const stepBytes = count({ short: 3, long: 1 });
/** A client that resets immediately, and one that resets while the service responds. */
const pausesMs = isLong ? [0, 1, 10] : [0, 4];
const connectionsAtOnce = 16;

test('survives a reset at any byte of any request, and does not log it as its own error', async (t) => {
  let running = await start(t);
  const logged: string[] = [];
  for (const [what, requestOf] of Object.entries(requestKinds)) {
    await t.test(`survives a reset at any byte of ${what}`, async () => {
      const { service, origin } = running;
      await resetAtEveryByte(origin, Buffer.from(requestOf(origin), 'latin1'));
      await assertServes(running).catch(async (died: Error) => {
        running = await start(t);
        throw died;
      });
      logged.push(...errorsIn(service));
    });
  }
  await t.test('does not log a reset as its own error', () => assert.deepEqual([...new Set(logged)], []));
  await t.test('shuts down as usual', async () => assert.equal(await running.service.terminate(), 0));
});

test('survives clients that reset while a large response is sent', async (t) => {
  const running = await start(t);
  const { origin, service } = running;
  for (let n = 0; n < 30; n++) await createItem(origin, { id: `${n}`, name: 'x'.repeat(100_000) });
  const request = requestText(origin, `GET ${readPath}`);
  await inParallel(
    Array.from({ length: count({ short: 60, long: 2_000 }) }, (_, n) => async () => {
      const socket = await connected(origin);
      socket.write(request.repeat((n % 3) + 1));
      if (n % 2 === 0) await firstBytes(socket);
      socket.resetAndDestroy();
    }),
  );
  await assertServes(running);
  assert.deepEqual(errorsIn(service), []);
});

test('survives clients that end their half of the connection and reset it later', async (t) => {
  const running = await start(t);
  for (const requestOf of Object.values(requestKinds)) {
    const bytes = Buffer.from(requestOf(running.origin), 'latin1');
    for (const length of [bytes.length, bytes.length - 1, Math.floor(bytes.length / 2)]) {
      const socket = await connected(running.origin);
      socket.end(bytes.subarray(0, length));
      await sleep(5);
      socket.resetAndDestroy();
    }
  }
  await assertServes(running);
  assert.deepEqual(errorsIn(running.service), []);
});

interface Running {
  readonly service: ServeProcess;
  readonly origin: string;
}

async function start(t: TestContext): Promise<Running> {
  const service = await ServeProcess.start(t, { data: newData(t), simulate: true });
  const origin = await service.ready();
  await createItem(origin, create.body);
  return { service, origin };
}

async function createItem(origin: string, item: unknown): Promise<void> {
  const { status } = await fetch(origin + create.path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(item),
  });
  assert.equal(status, 200);
}

async function resetAtEveryByte(origin: string, request: Buffer): Promise<void> {
  const lengths = new Set([request.length]);
  for (let length = 0; length < request.length; length += stepBytes) lengths.add(length);
  const resets = [...lengths].flatMap((length) => pausesMs.map((pauseMs) => ({ length, pauseMs })));
  await inParallel(
    resets.map(({ length, pauseMs }) => async () => {
      const socket = await connected(origin);
      if (length > 0) await written(socket, request.subarray(0, length));
      if (pauseMs > 0) await sleep(pauseMs);
      socket.resetAndDestroy();
    }),
  );
}

/** A dead service rejects the connection; one that hangs does not respond in time. */
async function assertServes({ service, origin }: Running): Promise<void> {
  const request = requestText(origin, `GET ${readPath}`);
  const response = await exchange(origin, request).catch((error: Error) => error);
  assert.ok(!(response instanceof Error), `${response}\n${service.errors.slice(-1_000)}`);
  assert.equal(response.status, 200, response.text);
}

/** The distinct errors that the service has logged as its own. */
function errorsIn({ errors }: ServeProcess): string[] {
  const lines = errors.split('\n').filter((line) => line.startsWith('{'));
  const kinds = lines.map((line) => {
    const { event, code, error_name: name, error_frames: frames = [] } = JSON.parse(line);
    return [event, code, name, frames[0]].join(' ');
  });
  return [...new Set(kinds)];
}

/** Also resolves when the service is dead and rejects the connection: `assertServes` reports that. */
async function connected(origin: string): Promise<Socket> {
  const { hostname, port } = new URL(origin);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  await new Promise<void>((resolve) => socket.once('connect', resolve).once('close', () => resolve()));
  return socket;
}

function written(socket: Socket, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve) => socket.write(bytes, () => resolve()));
}

function firstBytes(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.once('data', () => resolve()).once('close', () => resolve()));
}

async function inParallel(works: readonly (() => Promise<void>)[]): Promise<void> {
  const waiting = [...works];
  const work = async () => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) await next();
  };
  await Promise.all(Array.from({ length: connectionsAtOnce }, work));
}
