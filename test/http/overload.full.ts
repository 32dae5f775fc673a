import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { connect } from 'node:net';
import { suite, test } from 'node:test';
import { eventLoopDelayMsMax, loopTurnMsMax, requestsPerConnectionMax } from '../../src/http/limits.ts';
import { givenUpMs } from '../support/busy-machine.ts';
import { create, payment } from '../support/http/documented-operations.ts';
import { assertError } from '../support/http/error-response.ts';
import { exchange, type RawAnswer, RawConnection, requestText } from '../support/http/raw-http.ts';
import { startTestService, type TestService, unhurried } from '../support/service.ts';

const json = { 'Content-Type': 'application/json' };
const paymentsPath = `${payment.path}?idempotency_key=`;

// Side by side, for each waits for a payment of two seconds.
suite('a service at its limit', { concurrency: true }, () => {
  test('sheds requests beyond the bound before anything is done, and serves them when there is room', async (t) => {
    const service = await startTestService(t, { load: { ...unhurried, requestsRunningMax: 1 } });
    await service.post(create.path, create.body);
    const slow = await payingSlowly(service);

    const refused = await service.post(payment.path, payment.body, { 'Idempotency-Key': 'shed' });
    assertShed(refused);
    assert.equal(typeof refused.json.body.message.message, 'string', 'the documented fields stay truthful');
    assert.equal(refused.headers.get('payment-id'), null);
    const created = await service.post(create.path, { id: 'shed', name: 'Shed' });
    assertShed(created);
    assert.equal(created.json.body.complete, false);
    assertShed(await service.get('/v3/table/books/read'));
    assertShed(await service.get(`${paymentsPath}slow`));
    for (const path of ['/livez', '/readyz']) assert.equal((await service.get(path)).status, 200, path);

    assert.equal((await slow.answer()).status, 200, 'what was let in is finished');
    slow.close();
    await untilServed(service);
    const items = (await service.get('/v3/table/books/read')).json.body;
    assert.deepEqual(items, [create.body], 'nothing of what was shed was written');
    assertError(await service.get(`${paymentsPath}shed`), { status: 404, code: 'payment_not_found' });
    const paid = await service.post(payment.path, payment.body, { 'Idempotency-Key': 'shed' });
    assert.equal(paid.status, 200, 'a key that was shed is as new');
    assert.equal(paid.headers.get('idempotent-replayed'), null);
  });

  test('counts requests whose callers have gone no longer', async (t) => {
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
      'one runs, and there is room for one',
    );
    slow.close();
  });

  test('sheds what one connection sends beyond its share, and nobody else', async (t) => {
    const service = await startTestService(t, { env: { COUNTERFOIL_LIMIT_CHARGES: '100000' } });
    const greedy = await RawConnection.open(service.origin);
    greedy.send(
      slowPayment(service) + requestText(service.origin, 'GET /v3/none').repeat(requestsPerConnectionMax),
    );
    await until(async () => service.logged().includes('overloaded'));
    assert.equal((await service.get('/v3/none')).status, 404);
    assert.equal((await greedy.answer()).status, 200);
    for (let n = 1; n < requestsPerConnectionMax; n++) assert.equal((await greedy.answer()).status, 404);
    assertShed(await greedy.answer());
    greedy.close();
  });

  test('announces the end of connections with their responses when few more have room', async (t) => {
    const service = await startTestService(t, { load: { ...unhurried, connectionsMax: 10 } });
    const connections: RawConnection[] = [];
    const announced: boolean[] = [];
    for (let n = 0; n < 10; n++) {
      const connection = await RawConnection.open(service.origin);
      connections.push(connection);
      connection.send(requestText(service.origin, 'GET /livez'));
      announced.push((await connection.answer()).headers.get('connection') === 'close');
    }
    assert.deepEqual(announced, [...Array(8).fill(false), true, true]);
    for (const connection of connections) connection.close();
  });

  test('ends the connection that has been idle for longest when there are too many, and never one with a request', async (t) => {
    const service = await startTestService(t, { load: { ...unhurried, connectionsMax: 3 } });
    const slow = await payingSlowly(service);
    const idle = await RawConnection.open(service.origin);
    // Headers that never end are no request.
    const halfSent = await RawConnection.open(service.origin);
    halfSent.send('GET /livez HTTP/1.1\r\nX-A: ');
    const honest = await exchange(service.origin, requestText(service.origin, 'GET /livez'));
    assert.equal(honest.status, 200);
    assert.ok(await idle.ends());
    await RawConnection.open(service.origin);
    const next = await RawConnection.open(service.origin);
    assert.ok(await halfSent.ends());
    next.send(requestText(service.origin, 'GET /livez'));
    assert.equal((await next.answer()).status, 200);
    assert.equal((await slow.answer()).status, 200);
  });
});

test('sheds what one turn of the event loop does not get done', async (t) => {
  const service = await startTestService(t, { load: {} });
  const created = (id: string) =>
    requestText(service.origin, `POST ${create.path}`, json, JSON.stringify({ id, name: id }));
  const nothing = requestText(service.origin, 'GET /v3/none');
  const sent = [nothing, created('a'), created('b'), requestText(service.origin, 'GET /livez')];
  const connections = await Promise.all(sent.map(() => RawConnection.open(service.origin)));
  for (const connection of connections) {
    connection.send(requestText(service.origin, 'GET /livez'));
    await connection.answer();
  }
  // What the second one has to wait for.
  let count = 0;
  const block = () => {
    if (++count === 2) spin(loopTurnMsMax + 1);
  };
  subscribe('http.server.request.start', block);
  t.after(() => unsubscribe('http.server.request.start', block));
  // All are there when the event loop looks next.
  for (const [index, text] of sent.entries()) connections[index]?.send(text);

  const answers = await Promise.all(connections.map((connection) => connection.answer()));
  assert.deepEqual(
    answers.map(({ status }) => status),
    [404, 503, 503, 200],
  );
  assertShed(answers[1] as RawAnswer);
  assert.equal((await exchange(service.origin, created('b'))).status, 200, 'the next turn has time again');
  for (const connection of connections) connection.close();
  const items = (await service.get('/v3/table/books/read')).json.body;
  assert.deepEqual(items, [{ id: 'b', name: 'b' }]);
});

test('sheds while something else keeps the event loop busy, and no longer', async (t) => {
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

function assertShed(answer: Parameters<typeof assertError>[0]): void {
  assertError(answer, { status: 503, code: 'overloaded' });
  assert.equal(answer.headers.get('retry-after'), '1');
  assert.equal(answer.json.body.error.retryable, true);
}

function slowPayment({ origin }: TestService): string {
  const body = JSON.stringify({ ...payment.body, token: 'tok_slow' });
  return requestText(origin, `POST ${payment.path}`, json, body);
}

/** A connection whose request has been let in and is not answered for a while. */
async function payingSlowly(service: TestService): Promise<RawConnection> {
  const connection = await RawConnection.open(service.origin);
  connection.send(slowPayment(service));
  // What comes later on another connection is answered later.
  assert.equal((await service.get('/livez')).status, 200);
  return connection;
}

/** Its own connection lies behind all that the service has been told before. */
async function untilServed(service: TestService): Promise<void> {
  await until(async () => (await service.get('/v3/none')).status !== 503);
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  const giveUpAt = Date.now() + givenUpMs;
  while (!(await isSo())) {
    assert.ok(Date.now() < giveUpAt, `not so within ${givenUpMs} ms`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function spin(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}
