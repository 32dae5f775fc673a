import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * What happens to a request.
 *
 * - `pass`: it is forwarded, and so is the response.
 * - `drop`, `reset`: the connection ends before the request is forwarded.
 * - `late`: the connection ends, and the request is forwarded afterwards.
 * - `lose`: it is forwarded, and the connection ends instead of a response.
 * - `truncate`: the response ends in the middle.
 * - `delay`: the response arrives late.
 * - `page`: the proxy responds with an error page instead of forwarding.
 * - `busy`: it responds with 429 and `Retry-After` instead of forwarding. Only where a test asks for it.
 */
export const faults = ['pass', 'drop', 'reset', 'late', 'lose', 'truncate', 'delay', 'page'] as const;
export type Fault = (typeof faults)[number] | 'busy';

interface Upstream {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

export interface FaultyProxy {
  readonly url: string;
  /** How often each fault has happened. */
  readonly counts: Map<Fault, number>;
  /** Chooses what happens to the next request. */
  next: () => Fault;
  /** Resolves when every late request has been executed. */
  quiet(): Promise<void>;
}

const lateByMs = 300;
const delayMs = 400;

/** Forwards requests to a service, and spoils some. */
export async function startFaultyProxy(t: TestContext, origin: string): Promise<FaultyProxy> {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const forwarding = new Set<Promise<unknown>>();
  const forward = (received: IncomingMessage, body: Buffer): Promise<Upstream> => {
    const sent = new Promise<Upstream>((resolve, reject) => {
      const { method = 'GET', url = '/' } = received;
      const headers = { ...received.headers, host: new URL(origin).host, connection: 'keep-alive' };
      const options = { method, headers, agent };
      request(origin + url, options, (response) => {
        const { statusCode: status = 0, headers: ofResponse } = response;
        buffer(response).then((bytes) => resolve({ status, headers: ofResponse, body: bytes }), reject);
      })
        .on('error', reject)
        .end(body);
    });
    forwarding.add(sent);
    void sent.catch(() => undefined).finally(() => forwarding.delete(sent));
    return sent;
  };
  const respond = async (received: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await buffer(received);
    const fault = proxy.next();
    proxy.counts.set(fault, (proxy.counts.get(fault) ?? 0) + 1);
    if (fault === 'drop') return void received.socket.destroy();
    if (fault === 'reset') return void received.socket.resetAndDestroy();
    if (fault === 'page') {
      response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>502 Bad Gateway</h1>');
      return;
    }
    if (fault === 'busy') {
      const error = { type: 'limit', code: 'rate_limited', message: 'Too many requests.', retryable: true };
      response
        .writeHead(429, { 'content-type': 'application/json', 'retry-after': '1' })
        .end(JSON.stringify({ statusCode: 429, body: { message: error.message, error } }));
      return;
    }
    if (fault === 'late') {
      received.socket.resetAndDestroy();
      forwarding.add(sleep(lateByMs).then(() => forward(received, body)));
      return;
    }
    const upstream = await forward(received, body);
    if (fault === 'lose') return void received.socket.resetAndDestroy();
    if (fault === 'delay') await sleep(delayMs);
    const { connection: _, 'transfer-encoding': __, ...headers } = upstream.headers;
    response.writeHead(upstream.status, { ...headers, 'content-length': upstream.body.length });
    if (fault === 'truncate') {
      response.write(upstream.body.subarray(0, upstream.body.length / 2), () => received.socket.destroy());
      return;
    }
    response.end(upstream.body);
  };
  const server = createServer((received, response) => {
    respond(received, response).catch(() => received.socket.destroy());
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  t.after(() => {
    server.close();
    server.closeAllConnections();
    agent.destroy();
  });
  const proxy: FaultyProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    counts: new Map(),
    next: () => 'pass',
    quiet: async () => {
      for (const sent of forwarding) await sent.catch(() => undefined);
    },
  };
  return proxy;
}
