import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { newData } from '../serve-process.ts';

export interface TunedService {
  readonly origin: string;
  readonly pid: number;
}

/** Passes the compile cache on, if there is one: without it a process takes twice as long to start. */
const { NODE_COMPILE_CACHE } = process.env;
const compileCache = NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE };

/**
 * Starts the service in its own process, with options that are no settings. It is killed after the test.
 *
 * @param options of `startService`
 */
export async function startTuned(
  t: TestContext,
  options: Readonly<Record<string, unknown>>,
  env: Readonly<Record<string, string>> = {},
  data = newData(t),
): Promise<TunedService> {
  const child = fork(join(import.meta.dirname, 'tuned-service.ts'), {
    execArgv: [],
    env: {
      PORT: '0',
      COUNTERFOIL_DATA: data,
      COUNTERFOIL_LOG_LEVEL: 'error',
      ...compileCache,
      ...env,
      OPTIONS: JSON.stringify(options),
    },
  });
  t.after(() => child.kill('SIGKILL'));
  const [origin] = await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => assert.fail('the service does not start')),
  ]);
  return { origin, pid: child.pid as number };
}

/** A client that sends one request again and again, and reads nothing. */
export class StalledClient {
  readonly #socket: Socket;

  private constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** @param count the most requests that it sends */
  static async begin(
    origin: string,
    request: string,
    count: number,
    localAddress = '127.0.0.1',
  ): Promise<StalledClient> {
    const { hostname, port } = new URL(origin);
    const socket = connect({ host: hostname, port: Number(port), localAddress });
    socket.on('error', () => undefined).pause();
    await new Promise<void>((resolve) => socket.once('connect', resolve).once('close', () => resolve()));
    const client = new StalledClient(socket);
    // A reset connection ends the client.
    client.#send(Buffer.from(request.repeat(16)), Math.ceil(count / 16)).catch(() => undefined);
    return client;
  }

  get port(): number {
    return this.#socket.localPort as number;
  }

  close(): void {
    this.#socket.destroy();
  }

  async #send(requests: Buffer, times: number): Promise<void> {
    for (let n = 0; n < times && !this.#socket.destroyed; n++) {
      if (!this.#socket.write(requests))
        await Promise.race([once(this.#socket, 'drain'), once(this.#socket, 'close')]);
    }
  }
}

/** The resident memory of a process in bytes, as Linux reports it. */
export function residentBytes(pid: number): number {
  const text = readFileSync(`/proc/${pid}/status`, 'latin1');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(text)?.[1]) * 1024;
}

/** Sends one request after the other, on one connection, until the signal is aborted. */
export async function askHonestly(
  url: string,
  signal: AbortSignal,
  { localAddress = '127.0.0.1', pauseMs = 10 } = {},
): Promise<{ readonly asked: number; readonly served: number; readonly msMax: number }> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  let asked = 0;
  let served = 0;
  let msMax = 0;
  while (!signal.aborted) {
    const began = performance.now();
    asked++;
    if (await isServed(url, agent, localAddress)) served++;
    msMax = Math.max(msMax, performance.now() - began);
    await sleep(pauseMs);
  }
  agent.destroy();
  return { asked, served, msMax };
}

function isServed(url: string, agent: Agent, localAddress: string): Promise<boolean> {
  return new Promise((resolve) => {
    const asked = get(url, { agent, localAddress, timeout: 20_000 }, (response) => {
      response.resume();
      response.once('end', () => resolve(response.statusCode === 200)).once('error', () => resolve(false));
    });
    asked.once('timeout', () => asked.destroy()).once('error', () => resolve(false));
  });
}
