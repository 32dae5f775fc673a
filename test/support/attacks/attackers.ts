import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { requestsPerConnectionMax } from '../../../src/http/server/active-request.ts';
import { create, payment, readPath } from '../http/documented-operations.ts';
import { requestText } from '../http/raw-http.ts';
import { textOf } from '../http/repetitions.ts';
import { requestKinds } from '../http/request-kinds.ts';
import { StalledClient } from '../http/stalled-clients.ts';
import type { Attacking, AttackName } from './attack-request.ts';
import { shopOrigin } from './attacked-service.ts';

/** Runs an attack until its signal is aborted. */
type Attack = (attack: Attacking) => Promise<void>;

const json = { 'Content-Type': 'application/json' };
const mebibyte = 1024 * 1024;

export const attackFunctions: Readonly<Record<AttackName, Attack>> = {
  resets: (attack) => atOnce(8, (worker) => reset(attack, worker)),
  'worst texts': (attack) => atOnce(2, (worker) => sendWorstTexts(attack, worker)),
  'stalled readers': stall,
  'slow requests': (attack) => new SlowSockets(attack, slowBeginnings(attack)).untilOver(),
  'large bodies without an end': (attack) => new SlowSockets(attack, largeBeginnings(attack)).untilOver(),
  'card testing': (attack) => atOnce(2, () => testCards(attack)),
  'a log flood': (attack) => atOnce(8, (worker) => floodLog(attack, worker)),
  'readers of one response': stallAtOne,
};

/**
 * Resets connections at any byte of requests of every kind, some before the service has begun with them, some after.
 */
async function reset(
  { origin, address, signal, note, pauseMs = 0 }: Attacking,
  worker: number,
): Promise<void> {
  const kinds = Object.values(requestKinds).map((requestOf) => Buffer.from(requestOf(origin), 'latin1'));
  // A step of a prime reaches every byte of every kind eventually.
  for (let n = worker; !signal.aborted; n += 8) {
    const bytes = kinds[n % kinds.length] as Buffer;
    const socket = await connected(origin, address);
    socket.write(bytes.subarray(0, (n * 7_919) % (bytes.length + 1)));
    await sleep((n % 3) * 2);
    socket.resetAndDestroy();
    note('none');
    if (pauseMs > 0) await sleep(pauseMs);
  }
}

/** Sends texts of the maximum length for which checks were once slow. */
async function sendWorstTexts(attack: Attacking, worker: number): Promise<void> {
  const { keys, signal } = attack;
  const charge = (fields: string) => ({ path: payment.path, key: keys.publishable, body: `{${fields}}` });
  const item = (fields: string) => ({ path: create.path, key: keys.stolen, body: `{${fields}}` });
  const text = (prefix: string, piece: string, suffix = '') =>
    textOf({ prefix, piece, suffix }, mebibyte - 1_024);
  const bodies = [
    charge(`"currency":"EUR","token":"tok_paid","amount":${text('1', '0', '1')}`),
    charge(`"amount":1050,"currency":"EUR","token":"${text('', '1 ')}"`),
    charge(`"amount":1050,"currency":"EUR","token":"tok_paid","metadata":{${text('', '"#":"4 2",')}"":""}`),
    item(`"id":"${text('', '4 2')}","name":"a"`),
    item(`"id":"a","name":"${text('', '1-')}"`),
    item(`"id":"a","name":${text('', '[')}`),
    item(`"id":"a","name":"${text('', '\\u00e9')}"`),
    item(`"id":"a","name":${text('0.', '0', '1')}`),
    item(`"id":"a",${text('', '"a#":{},')}"name":"a"`),
    { path: '/v3/auth/sign-out', key: '', body: text('1', '0', '1').slice(0, 16 * 1024) },
    { path: '/stage/events/stripe', key: '', body: text('1', '0', '1').slice(0, 256 * 1024) },
  ];
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  for (let n = worker; !signal.aborted; n++) {
    const { path, key, body } = bodies[n % bodies.length] as (typeof bodies)[number];
    const headers = key === '' ? json : { ...json, Authorization: `Bearer ${key}`, Origin: shopOrigin };
    await send(attack, { method: 'POST', path, agent, headers, body });
  }
  agent.destroy();
}

/** Clients that keep sending requests, and read nothing. */
async function stall({ origin, address, keys, sockets, signal }: Attacking): Promise<void> {
  const bearer = { Authorization: `Bearer ${keys.stolen}` };
  const requests: readonly (readonly [request: string, count: number])[] = [
    [requestText(origin, 'GET /docs/static/swagger-ui-bundle.js'), requestsPerConnectionMax],
    [requestText(origin, 'GET /openapi.json'), requestsPerConnectionMax],
    [requestText(origin, `GET ${readPath}?id=large`, bearer), requestsPerConnectionMax],
    [requestText(origin, 'GET /nothing'), 40_000],
  ];
  const clients = await Promise.all(
    Array.from({ length: Math.ceil(sockets / 8) }, (_, n) => {
      const [text, count] = requests[n % requests.length] as (typeof requests)[number];
      return StalledClient.begin(origin, text, count, address);
    }),
  );
  await over(signal);
  for (const client of clients) client.close();
}

/**
 * Clients that do not read one response. It fits into the socket buffers, so that the service has nothing left to send.
 */
async function stallAtOne({ origin, address, sockets, signal }: Attacking): Promise<void> {
  const text = requestText(origin, 'GET /docs/static/swagger-ui-bundle.js');
  const connections = await Promise.all(Array.from({ length: sockets }, () => connected(origin, address)));
  for (const socket of connections) socket.pause().write(text);
  await over(signal);
  for (const socket of connections) socket.destroy();
}

function slowBeginnings({ origin }: Attacking): readonly string[] {
  const keyless = ['/stage/events/stripe', '/v3/auth/sign-out', '/v3/auth/google/shop/token'];
  const lengths = keyless.map((path) =>
    requestText(origin, `POST ${path}`, { ...json, 'Content-Length': '10000' }),
  );
  const chunks = keyless.map(
    (path) => `${requestText(origin, `POST ${path}`, { ...json, 'Transfer-Encoding': 'chunked' })}2000\r\n`,
  );
  return [...lengths, ...chunks, 'POST /v3/auth/sign-out HTTP/1.1\r\nX-A: ', ''];
}

/** Nearly all of a body of the maximum length, with the publishable key and without a key. */
function largeBeginnings({ origin, keys }: Attacking): readonly string[] {
  const open = (path: string, bytes: number, headers = {}) =>
    requestText(origin, `POST ${path}`, { ...json, ...headers, 'Content-Length': `${bytes}` }) +
    ' '.repeat(bytes - 64 * 1024);
  const bearer = { Authorization: `Bearer ${keys.publishable}`, Origin: shopOrigin };
  return [open(payment.path, mebibyte - 1, bearer), open('/stage/events/stripe', 256 * 1024 - 1)];
}

/** Tries declined cards with the publishable key, each time with another address in X-Forwarded-For. */
async function testCards(attack: Attacking): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const body = JSON.stringify({ ...payment.body, token: 'tok_lost_card' });
  for (let n = 0; !attack.signal.aborted; n++) {
    const headers = {
      ...json,
      Authorization: `Bearer ${attack.keys.publishable}`,
      Origin: shopOrigin,
      'X-Forwarded-For': `198.51.100.${n % 250}`,
    };
    await send(attack, { method: 'POST', path: payment.path, agent, headers, body });
    await sleep(5);
  }
  agent.destroy();
}

/** Sends requests that are rejected: many from one address, and a few from each of many. */
async function floodLog(attack: Attacking, worker: number): Promise<void> {
  const paths = ['/nothing', readPath];
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  for (let n = worker; !attack.signal.aborted; n += 8) {
    const path = paths[n % paths.length] as string;
    if (worker < 2) await send(attack, { method: 'GET', path, agent });
    else {
      const address = `127.${67 + worker}.${(n >> 8) % 256}.${1 + (n % 254)}`;
      await send({ ...attack, address }, { method: 'GET', path, agent: new Agent() });
    }
  }
  agent.destroy();
}

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly agent: Agent;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Resolves after the response has ended, or the connection, and after the pause. */
async function send(attack: Attacking, sent: Sent): Promise<void> {
  await exchanged(attack, sent);
  if (attack.pauseMs !== undefined) await sleep(attack.pauseMs);
}

function exchanged({ origin, address, note, signal }: Attacking, sent: Sent): Promise<void> {
  const { method, path, agent, headers = {}, body } = sent;
  return new Promise((resolve) => {
    const options = { method, agent, headers, localAddress: address, timeout: 20_000, signal };
    const sending = request(origin + path, options, (response) => {
      note(response.statusCode as number);
      response.resume().once('close', resolve);
    });
    sending.once('timeout', () => sending.destroy());
    sending.once('error', () => resolve(note('none')));
    sending.once('close', resolve);
    sending.end(body);
  });
}

async function connected(origin: string, localAddress: string): Promise<Socket> {
  const { hostname, port } = new URL(origin);
  const socket = connect({ host: hostname, port: Number(port), localAddress });
  socket.on('error', () => undefined).resume();
  await new Promise<void>((resolve) => socket.once('connect', resolve).once('close', () => resolve()));
  return socket;
}

async function atOnce(count: number, work: (worker: number) => Promise<void>): Promise<void> {
  await Promise.all(Array.from({ length: count }, (_, worker) => work(worker)));
}

function over(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve());
  });
}

/** Two hundred bytes, four times a second: faster than the minimum that the service requires. */
const drip = 'a'.repeat(200);
const dripMs = 250;

/** Sockets that begin a request, send it slowly, and are opened again when they are closed. */
class SlowSockets {
  readonly #attack: Attacking;
  readonly #beginnings: readonly Buffer[];
  readonly #sockets = new Set<Socket>();

  constructor(attack: Attacking, beginnings: readonly string[]) {
    this.#attack = attack;
    this.#beginnings = beginnings.map((text) => Buffer.from(text, 'latin1'));
  }

  async untilOver(): Promise<void> {
    const { signal, sockets } = this.#attack;
    for (let n = 0; n < sockets; n++) this.#open(n);
    while (!signal.aborted) {
      await sleep(dripMs);
      let n = 0;
      // Half of them are slower than any modem.
      for (const socket of this.#sockets) if (socket.writable) socket.write(n++ % 2 === 0 ? drip : 'a');
    }
    for (const socket of this.#sockets) socket.destroy();
  }

  #open(n: number): void {
    const { origin, address, signal, note } = this.#attack;
    const { hostname, port } = new URL(origin);
    const socket = connect({ host: hostname, port: Number(port), localAddress: address });
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('data', (bytes: Buffer) =>
      note(Number(/^HTTP\/1\.\d (\d{3})/.exec(`${bytes}`)?.[1]) || 'none'),
    );
    socket.once('connect', () => socket.write(this.#beginnings[n % this.#beginnings.length] as Buffer));
    socket.once('close', () => {
      this.#sockets.delete(socket);
      setTimeout(() => signal.aborted || this.#open(n), dripMs);
    });
  }
}
