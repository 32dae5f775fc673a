import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { suite, test } from 'node:test';
import { requestsPerConnectionMax } from '../../src/http/server/active-request.ts';
import { eventLoopDelayMsMax, requestWaitMsMax } from '../../src/http/server/load-shedding.ts';
import { givenUpMs } from '../support/busy-machine.ts';
import { create, payment } from '../support/http/documented-operations.ts';
import { assertError } from '../support/http/error-response.ts';
import { exchange, RawConnection, type RawResponse, requestText } from '../support/http/raw-http.ts';
import { startTestService, type TestService, unhurried } from '../support/service.ts';

const json = { 'Content-Type': 'application/json' };
const paymentsPath = `${payment.path}?idempotency_key=`;

// Concurrent, because each test waits for a payment of two seconds.
suite('a service at its limit', { concurrency: true }, () => {
  test('sheds requests beyond the bound before it does anything, and serves them when there is capacity', async (t) => {
    const service = await startTestService(t, { load: { ...unhurried, requestsRunningMax: 1 } });
    await service.post(create.path, create.body);
    const slow = await payingSlowly(service);

    const shed = await service.post(payment.path, payment.body, { 'Idempotency-Key': 'shed' });
    assertShed(shed);
    assert.equal(typeof shed.json.body.message.message, 'string', 'the legacy error fields are correct');
    assert.equal(shed.headers.get('payment-id'), null);
    const created = await service.post(create.path, { id: 'shed', name: 'Shed' });
    assertShed(created);
    assert.equal(created.json.body.complete, false);
    assertShed(await service.get('/v3/table/books/read'));
    assertShed(await service.get(`${paymentsPath}slow`));
    for (const path of ['/livez', '/readyz']) assert.equal((await service.get(path)).status, 200, path);

    assert.equal((await slow.response()).status, 200, 'an admitted request is finished');
    slow.close();
    await untilServed(service);
    const items = (await service.get('/v3/table/books/read')).json.body;
    assert.deepEqual(items, [create.body], 'a request that was shed wrote nothing');
    assertError(await service.get(`${paymentsPath}shed`), { status: 404, code: 'payment_not_found' });
    const paid = await service.post(payment.path, payment.body, { 'Idempotency-Key': 'shed' });
    assert.equal(paid.status, 200, 'a key of a request that was shed is unused');
    assert.equal(paid.headers.get('idempotent-replayed'), null);
  });

  test('does not count requests whose clients have disconnected', async (t) => {
    const service = await startTestService(t, { load: { ...unhurried, requestsRunningMax: 2 } });
    const { port, hostname } = new URL(service.origin);
    const sockets = Array.from({ length: 3 }, () => connect(Number(port), hostname));
    for (const socket of sockets) {
      await once(socket, 'connect');
      socket.write(slowPayment(service));
      socket.resume();
    }
    await until(async () => service.logged().includes('overloaded'));
    for (const socket of sockets) socket.destroy();
    await untilServed(service);
    const slow = await payingSlowly(service);
    assert.equal(
      (await service.get('/v3/table/none/read')).status,
      404,
      'one request runs, and another one is admitted',
    );
    slow.close();
  });

  test('sheds the requests of one connection beyond its bound, and no others', async (t) => {
    const service = await startTestService(t, { env: { COUNTERFOIL_LIMIT_CHARGES: '100000' } });
    const greedy = await RawConnection.open(service.origin);
    greedy.send(
      slowPayment(service) + requestText(service.origin, 'GET /v3/none').repeat(requestsPerConnectionMax),
    );
    await until(async () => service.logged().includes('overloaded'));
    assert.equal((await service.get('/v3/none')).status, 404);
    assert.equal((await greedy.response()).status, 200);
    for (let n = 1; n < requestsPerConnectionMax; n++) assert.equal((await greedy.response()).status, 404);
    assertShed(await greedy.response());
    greedy.close();
  });

  test('sends Connection: close when the number of connections is near its bound', async (t) => {
    const service = await startTestService(t, { load: { ...unhurried, connectionsMax: 10 } });
    const connections: RawConnection[] = [];
    const announced: boolean[] = [];
    for (let n = 0; n < 10; n++) {
      const connection = await RawConnection.open(service.origin);
      connections.push(connection);
      connection.send(requestText(service.origin, 'GET /livez'));
      announced.push((await connection.response()).headers.get('connection') === 'close');
    }
    assert.deepEqual(announced, [...Array(8).fill(false), true, true]);
    for (const connection of connections) connection.close();
  });

  test('closes the connection with the longest idle time when there are too many, and none with a request', async (t) => {
    const service = await startTestService(t, { load: { ...unhurried, connectionsMax: 3 } });
    const slow = await payingSlowly(service);
    const idle = await RawConnection.open(service.origin);
    // A connection with incomplete headers counts as idle.
    const halfSent = await RawConnection.open(service.origin);
    halfSent.send('GET /livez HTTP/1.1\r\nX-A: ');
    const honest = await exchange(service.origin, requestText(service.origin, 'GET /livez'));
    assert.equal(honest.status, 200);
    assert.ok(await idle.ends());
    await RawConnection.open(service.origin);
    const next = await RawConnection.open(service.origin);
    assert.ok(await halfSent.ends());
    next.send(requestText(service.origin, 'GET /livez'));
    assert.equal((await next.response()).status, 200);
    assert.equal((await slow.response()).status, 200);
  });
});

test('sheds the requests that do not fit into one turn of the event loop', async (t) => {
  const service = await startTestService(t, { load: {} });
  const created = (id: string) =>
    requestText(service.origin, `POST ${create.path}`, json, JSON.stringify({ id, name: id }));
  const nothing = requestText(service.origin, 'GET /v3/none');
  const sent = [nothing, created('a'), created('b'), requestText(service.origin, 'GET /livez')];
  const connections = await Promise.all(sent.map(() => RawConnection.open(service.origin)));
  for (const connection of connections) {
    connection.send(requestText(service.origin, 'GET /livez'));
    await connection.response();
  }
  // Blocks the event loop while the second request waits.
  let count = 0;
  const block = () => {
    if (++count === 2) spin(requestWaitMsMax + 1);
  };
  subscribe('http.server.request.start', block);
  t.after(() => unsubscribe('http.server.request.start', block));
  // All of them arrive before the next turn of the event loop.
  for (const [index, text] of sent.entries()) connections[index]?.send(text);

  const responses = await Promise.all(connections.map((connection) => connection.response()));
  assert.deepEqual(
    responses.map(({ status }) => status),
    [404, 503, 503, 200],
  );
  assertShed(responses[1] as RawResponse);
  assert.equal(
    (await exchange(service.origin, created('b'))).status,
    200,
    'the next turn serves requests again',
  );
  for (const connection of connections) connection.close();
  const items = (await service.get('/v3/table/books/read')).json.body;
  assert.deepEqual(items, [{ id: 'b', name: 'b' }]);
});

test('sheds requests only while other work keeps the event loop busy', async (t) => {
  const service = await startTestService(t, { load: {} });
  let isBusy = true;
  t.after(() => {
    isBusy = false;
  });
  const keepBusy = () => {
    if (!isBusy) return;
    spin(eventLoopDelayMsMax * 1.2);
    setImmediate(keepBusy);
  };
  keepBusy();
  const nothing = requestText(service.origin, 'GET /v3/none');
  await until(async () => (await exchange(service.origin, nothing)).status === 503);
  const [shed, alive] = await Promise.all([
    exchange(service.origin, requestText(service.origin, 'GET /v3/table/books/read')),
    exchange(service.origin, requestText(service.origin, 'GET /livez')),
  ]);
  isBusy = false;
  assertShed(shed);
  assert.equal(alive.status, 200);
  await untilServed(service);
});

function assertShed(response: Parameters<typeof assertError>[0]): void {
  assertError(response, { status: 503, code: 'overloaded' });
  assert.equal(response.headers.get('retry-after'), '1');
  assert.equal(response.json.body.error.retryable, true);
}

function slowPayment({ origin }: TestService): string {
  const body = JSON.stringify({ ...payment.body, token: 'tok_slow' });
  return requestText(origin, `POST ${payment.path}`, json, body);
}

/** A connection with an admitted request that takes two seconds. */
async function payingSlowly(service: TestService): Promise<RawConnection> {
  const connection = await RawConnection.open(service.origin);
  const arrived = Promise.withResolvers<void>();
  const { port } = new URL(service.origin);
  // Other tests of this process have services too.
  const note = (message: unknown) => {
    const { url, socket } = (message as { readonly request: IncomingMessage }).request;
    if (url === payment.path && String(socket.localPort) === port) arrived.resolve();
  };
  subscribe('http.server.request.start', note);
  connection.send(slowPayment(service));
  await arrived.promise;
  unsubscribe('http.server.request.start', note);
  // Requests of one address are admitted in their order: this response proves that the earlier one was.
  assert.equal((await service.get('/livez')).status, 200);
  return connection;
}

/** Sends requests until one is not shed. */
async function untilServed(service: TestService): Promise<void> {
  await until(async () => (await service.get('/v3/none')).status !== 503);
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  const giveUpAt = Date.now() + givenUpMs;
  while (!(await isSo())) {
    assert.ok(Date.now() < giveUpAt, `the condition did not hold within ${givenUpMs} ms`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function spin(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}
