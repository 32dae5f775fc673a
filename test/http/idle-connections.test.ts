import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { keepAliveMs, Listener, proxyKeepAliveMs } from '../../src/http/server/listener.ts';

/** Node.js waits a little longer than it says, so that a client that keeps to the time never meets a closed connection. */
const bufferMs = 1_000;

test('closes an idle connection sooner than a trusted proxy would reuse its own', async (t) => {
  assert.equal(await idleMs(t, false), keepAliveMs + bufferMs);
  assert.equal(await idleMs(t, true), proxyKeepAliveMs);
});

test('an idle connection of a proxy serves the next request', async (t) => {
  const { origin, agent, accepted } = await listening(t, true);
  for (let request = 0; request < 3; request++) {
    await (await requested(origin, agent)).toArray();
    await idle(accepted);
  }
  assert.equal(accepted.length, 1);
});

/** The timeout of a connection after its first response. */
async function idleMs(t: TestContext, isProxy: boolean): Promise<number | undefined> {
  const { origin, agent, accepted } = await listening(t, isProxy);
  await (await requested(origin, agent)).toArray();
  await idle(accepted);
  return accepted[0]?.timeout;
}

async function listening(t: TestContext, isProxy: boolean) {
  const listener = await Listener.listen({ host: '127.0.0.1', port: 0, isTrustedProxy: () => isProxy });
  t.after(() => listener.stop());
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  const accepted: Socket[] = [];
  listener.server.on('connection', (socket) => accepted.push(socket));
  listener.serve((_request, response) => {
    response.end('{}');
  });
  return { origin: listener.origin, agent, accepted };
}

async function requested(origin: string, agent: Agent): Promise<IncomingMessage> {
  const [response] = (await once(get(origin, { agent }), 'response')) as [IncomingMessage];
  return response;
}

/** The service marks a connection as idle after it has sent the response. */
async function idle([socket]: readonly Socket[]): Promise<void> {
  while (socket?.timeout === 0) await new Promise((resolve) => setImmediate(resolve));
}
