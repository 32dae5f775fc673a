import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { IncomingMessage, RequestListener } from 'node:http';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { FairQueue, queuedBodyBytesMin, turnMsMax } from '../../src/http/server/fair-queue.ts';
import { Listener, type ListenerOptions } from '../../src/http/server/listener.ts';
import { RawConnection, requestText } from '../support/http/raw-http.ts';
import { startTestService, unhurried } from '../support/service.ts';

/** Longer than half of a turn, so that a turn has time for two such requests. */
const workMs = turnMsMax / 2;
/** Those of the poll, those after it, and once more, because the test counts between any two points of two turns. */
const perTurnMax = 3 * 2;
const many = 50;
const attacker = '127.0.0.2';
const honest = '127.0.0.3';

for (const [when, handler] of Object.entries({
  'at once': () => spin(workMs),
  'in promises': async () => {
    for (let n = 0; n < 3; n++) await undefined;
    spin(workMs);
  },
}))
  test(`a turn of the event loop serves few requests that work ${when}`, async (t) => {
    const turns = new TurnCounter(t);
    const { sockets } = await connected(
      t,
      { from: Array(many).fill(attacker) },
      async (_request, response) => {
        await handler();
        turns.count();
        response.end('{}');
      },
    );
    await respondedTo(sockets);
    assert.equal(turns.sum, many);
    assert.ok(turns.max <= perTurnMax, `${turns.max} requests in one turn`);
  });

for (const by of ['by connection', 'by the header of a trusted proxy'])
  test(`serves an address before the second request of another one, distinguished ${by}`, async (t) => {
    const order: string[] = [];
    const isProxied = by !== 'by connection';
    const callers = [...Array<string>(many).fill(attacker), honest];
    const { sockets } = await connected(
      t,
      {
        from: isProxied ? callers.map(() => '127.0.0.1') : callers,
        isTrustedProxy: () => isProxied,
        callerBehind: (_proxy, headers) => String(headers['x-forwarded-for']),
      },
      (request, response) => {
        order.push(callerOf(request));
        spin(workMs);
        response.end('{}');
      },
    );
    await respondedTo(sockets, callers);
    assert.equal(order.length, callers.length);
    const place = order.indexOf(honest);
    assert.ok(place <= perTurnMax, `served as number ${place + 1} of ${order.length}`);
  });

test('accepts the waiting connections before an address is served again', async (t) => {
  const listener = await listening(t, { bounds: { acceptFirstMsMax: Infinity } });
  const served: string[] = [];
  const servedBeforeLast: string[][] = [];
  listener.serve((request, response) => {
    served.push(callerOf(request));
    response.end('{}');
  });
  listener.server.on('connection', () => servedBeforeLast.push([...served]));
  // The system has all of these connections before the next turn of the event loop.
  const from = [...Array<string>(many).fill(attacker), honest, ...Array<string>(many).fill(attacker)];
  const sockets = from.map((address) => openFrom(t, listener, address));
  await respondedTo(sockets, from);
  const before = servedBeforeLast.at(-1) ?? [];
  assert.deepEqual(before.toSorted(), [attacker, honest]);
  assert.equal(served.length, from.length, 'all of them are served then');
});

test('serves waiting requests after a while although connections never cease to arrive', async (t) => {
  const listener = await listening(t, { bounds: { acceptFirstMsMax: 0 } });
  let served = 0;
  listener.serve((_request, response) => {
    served++;
    response.end('{}');
  });
  const servedBefore: number[] = [];
  listener.server.on('connection', () => servedBefore.push(served));
  const sockets = Array.from({ length: many }, () => openFrom(t, listener, attacker));
  await respondedTo(sockets);
  assert.ok((servedBefore.at(-1) ?? 0) > many / 2, `${servedBefore.at(-1)} of ${many}`);
});

test('does not serve a request whose connection has closed while it waited', async (t) => {
  let served = 0;
  const { sockets } = await connected(t, { from: Array(many).fill(attacker) }, (_request, response) => {
    if (++served === 1) for (const socket of sockets.slice(1)) socket.destroy();
    spin(workMs);
    response.end('{}');
  });
  await respondedTo(sockets.slice(0, 1), undefined, sockets);
  for (let turn = 0; turn < many; turn++) await nextTurn();
  assert.ok(served <= perTurnMax, `${served} requests were served`);
});

test('the work on large bodies waits for its turn, that on small ones does not', async (t) => {
  const turns = new TurnCounter(t);
  const queue = new FairQueue();
  const works = Array.from(
    { length: many },
    () =>
      new Promise<void>((resolve) => {
        queue.addForBody(attacker, queuedBodyBytesMin, () => {
          spin(workMs);
          turns.count();
          resolve();
        });
      }),
  );
  let isDone = false;
  queue.addForBody(attacker, queuedBodyBytesMin - 1, () => {
    isDone = true;
  });
  assert.ok(isDone);
  await Promise.all(works);
  assert.ok(turns.max <= perTurnMax, `${turns.max} bodies in one turn`);
});

test('builds few pages in one turn', async (t) => {
  const pages = 16;
  const service = await startTestService(t, { load: unhurried });
  const name = 'x'.repeat(1_000);
  for (let batch = 0; batch < 10; batch++) {
    const operations = Array.from({ length: 100 }, (_, n) => ({ create: { id: `${batch}-${n}`, name } }));
    assert.equal((await service.post('/v3/table/books/batch', { writes: operations })).status, 200);
  }
  const connections = await Promise.all(
    Array.from({ length: pages }, () => RawConnection.open(service.origin)),
  );
  for (const connection of connections) {
    connection.send(requestText(service.origin, 'GET /v3/table/books/read?limit=1'));
    await connection.response();
  }
  const turns = new TurnCounter(t);
  const count = () => turns.count();
  subscribe('http.server.response.finish', count);
  t.after(() => unsubscribe('http.server.response.finish', count));
  for (const connection of connections)
    connection.send(requestText(service.origin, 'GET /v3/table/books/read?limit=1000'));
  const responses = await Promise.all(connections.map((connection) => connection.response()));
  for (const { json } of responses) assert.equal(json.body.length, 1_000);
  for (const connection of connections) connection.close();
  assert.equal(turns.sum, pages);
  // Each takes some milliseconds of a turn's ten.
  assert.ok(turns.max <= pages / 2, `${turns.max} pages in one turn`);
});

test('serves the connections that the system holds when the service stops', async (t) => {
  const listener = await listening(t, {});
  listener.serve((_request, response) => {
    response.setHeader('connection', 'close');
    response.end('{}');
  });
  const sockets = Array.from({ length: many }, () => openFrom(t, listener, attacker));
  const responded = respondedTo(sockets);
  await listener.stop();
  await responded;
});

interface Connecting extends Pick<ListenerOptions, 'isTrustedProxy' | 'callerBehind'> {
  /** The local address of each connection. */
  readonly from: readonly string[];
}

/** Connections that are accepted, and have nothing to do with the listener's beginning. */
async function connected(
  t: TestContext,
  { from, ...options }: Connecting,
  handler: RequestListener,
): Promise<{ readonly sockets: readonly Socket[] }> {
  const listener = await listening(t, options);
  let accepted = 0;
  listener.server.on('connection', () => accepted++);
  listener.serve(handler);
  const sockets = from.map((address) => openFrom(t, listener, address));
  while (accepted < from.length || listener.queue.isAccepting) await nextTurn();
  return { sockets };
}

async function listening(t: TestContext, options: Partial<ListenerOptions>): Promise<Listener> {
  const listener = await Listener.listen({ host: '127.0.0.1', port: 0, ...options });
  t.after(() => listener.stop());
  return listener;
}

function openFrom(t: TestContext, { origin }: Listener, localAddress: string): Socket {
  const { hostname, port } = new URL(origin);
  const socket = connect({ host: hostname, port: Number(port), localAddress });
  socket.on('error', () => undefined);
  t.after(() => socket.destroy());
  return socket;
}

/**
 * Sends a request on each connection, all in one turn.
 *
 * @param callers for the header of a proxy
 * @param senders the connections that send, of which only `sockets` get a response
 */
async function respondedTo(
  sockets: readonly Socket[],
  callers: readonly string[] = [],
  senders: readonly Socket[] = sockets,
): Promise<void> {
  const responses = sockets.map(async (socket) => {
    const [bytes] = await Promise.race([once(socket, 'data'), once(socket, 'close')]);
    assert.match(String(bytes), /^HTTP\/1.1 200 /);
  });
  for (const [n, socket] of senders.entries())
    socket.write(`GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: ${callers[n] ?? attacker}\r\n\r\n`);
  await Promise.all(responses);
}

function callerOf({ headers }: IncomingMessage): string {
  return String(headers['x-forwarded-for']);
}

/** Counts between the turns of the event loop. */
class TurnCounter {
  sum = 0;
  max = 0;
  #inTurn = 0;

  constructor(t: TestContext) {
    let isOver = false;
    const nextTurn = () => {
      this.#inTurn = 0;
      if (!isOver) setImmediate(nextTurn);
    };
    nextTurn();
    t.after(() => {
      isOver = true;
    });
  }

  count(): void {
    this.sum++;
    this.max = Math.max(this.max, ++this.#inTurn);
  }
}

function spin(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}
