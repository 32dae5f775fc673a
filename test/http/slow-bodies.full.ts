import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { platform } from 'node:os';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { count, isLong } from '../support/extent.ts';
import { create } from '../support/http/documented-operations.ts';
import { requestText } from '../support/http/raw-http.ts';
import { askHonestly, startTuned } from '../support/http/stalled-clients.ts';

/** More connections than a listener accepts from all callers. */
const attackers = count({ short: 300, long: 6_000 });
const attackMs = count({ short: 1_500, long: 40_000 });
/** The bounds of the service, scaled down; a long run uses the real ones. */
const load = isLong
  ? {}
  : {
      requestsRunningMax: 200,
      connectionsMax: 250,
      requestsPerAddressMax: 60,
      connectionsPerAddressMax: 100,
    };
const dripMs = 250;
const linux = platform() === 'linux' ? {} : { skip: 'needs 127.0.0.2' };
const keyless = ['/stage/events/stripe', '/v3/auth/sign-out', '/v3/auth/google/shop/token'];
const attacks: Readonly<Record<string, (origin: string, n: number) => string>> = {
  'bodies that never end': (origin, n) =>
    requestText(origin, `POST ${keyless[n % keyless.length]}`, {
      'Content-Type': 'application/json',
      'Content-Length': '10000',
    }),
  'chunks that never end': (origin, n) =>
    `${requestText(origin, `POST ${keyless[n % keyless.length]}`, {
      'Content-Type': 'application/json',
      'Transfer-Encoding': 'chunked',
    })}2000\r\n`,
  'heads that never end': () => 'POST /v3/auth/sign-out HTTP/1.1\r\nX-A: ',
  'nothing at all': () => '',
};

for (const [what, sentFirst] of Object.entries(attacks)) {
  test(`serves other addresses while one sends ${what}`, linux, async (t) => {
    const service = await startTuned(t, { load }, { COUNTERFOIL_STRIPE_WEBHOOK_SECRETS: 'whsec_abc' });
    const { origin } = service;
    const item = { method: 'POST', headers: { 'content-type': 'application/json' } };
    await fetch(origin + create.path, { ...item, body: JSON.stringify(create.body) });

    const ended = new AbortController();
    const attack = new SlowAttack(t, origin, sentFirst);
    const honest = askHonestly(`${origin}/v3/table/books/read?id=a`, ended.signal, {
      localAddress: '127.0.0.2',
    });
    await attack.during(attackMs).finally(() => ended.abort());
    const { asked, served, msMax } = await honest;
    t.diagnostic(`${served} of ${asked} honest requests served, the slowest in ${Math.round(msMax)} ms`);
    assert.ok(asked > 0 && served >= asked * 0.999, `${served} of ${asked} honest requests are served`);
  });
}

/** Connections from 127.0.0.1 that each send a byte now and then; a closed one is opened again. */
class SlowAttack {
  readonly #sockets = new Set<Socket>();
  readonly #open: (n: number) => void;
  #isOver = false;

  constructor(t: TestContext, origin: string, sentFirst: (origin: string, n: number) => string) {
    const { hostname, port } = new URL(origin);
    this.#open = (n) => {
      const socket = connect({ host: hostname, port: Number(port), localAddress: '127.0.0.1' });
      this.#sockets.add(socket);
      socket.on('error', () => undefined).resume();
      socket.once('connect', () => socket.write(sentFirst(origin, n)));
      socket.once('close', () => {
        this.#sockets.delete(socket);
        if (!this.#isOver) setTimeout(() => this.#isOver || this.#open(n), dripMs);
      });
    };
    t.after(() => this.#end());
  }

  async during(ms: number): Promise<void> {
    for (let n = 0; n < attackers; n++) this.#open(n);
    for (const endAt = performance.now() + ms; performance.now() < endAt; ) {
      await sleep(dripMs);
      for (const socket of this.#sockets) if (socket.writable) socket.write('a');
    }
    this.#end();
  }

  #end(): void {
    this.#isOver = true;
    for (const socket of this.#sockets) socket.destroy();
  }
}
