import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { newKey } from '../access/keys.ts';
import { create } from '../http/documented-operations.ts';
import { residentBytes } from '../http/stalled-clients.ts';
import { payerPrice } from '../payments/payer-price.ts';
import { writeSettings } from '../payments/settings-file.ts';
import { newData, ServeProcess } from '../serve-process.ts';
import type { AttackKeys } from './attack-request.ts';
import { connectionsOf } from './connections.ts';

const env = {
  COUNTERFOIL_TRUSTED_PROXIES: '127.0.0.1',
  COUNTERFOIL_STRIPE_WEBHOOK_SECRETS: 'whsec_abc',
  COUNTERFOIL_LOG_LEVEL: 'info',
  // Honest shoppers pay faster here than in any shop; an address may have a sixth of the limit.
  COUNTERFOIL_LIMIT_CHARGES: '6000',
};
export const shopOrigin = 'https://shop.example';

/** A service in processes of its own, with API keys and a trusted proxy on this machine. */
export interface AttackedService {
  readonly origin: string;
  readonly keys: AttackKeys;
  /** The processes that serve requests. */
  pids(): readonly number[];
  /** What it has logged so far. */
  logged(): string;
}

/** Starts one process, with options of `startService` that are not settings. */
export async function startAttacked(
  t: TestContext,
  options: Readonly<Record<string, unknown>>,
): Promise<AttackedService> {
  const data = newData(t);
  const keys = await makeKeys(data);
  const program = join(import.meta.dirname, '../http/tuned-service.ts');
  const child = fork(program, {
    env: {
      PORT: '0',
      COUNTERFOIL_DATA: data,
      ...env,
      OPTIONS: JSON.stringify(options),
      SETTINGS_FILE: writeSettings(t, payerPrice),
    },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let log = '';
  child.stderr?.on('data', (bytes: Buffer) => {
    log += bytes;
  });
  const ended = once(child, 'exit');
  t.after(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const [origin] = await Promise.race([
    once(child, 'message'),
    ended.then(() => assert.fail(`the service does not start: ${log}`)),
  ]);
  await fill(origin, keys);
  return { origin, keys, pids: () => [child.pid as number], logged: () => log };
}

/** Starts `counterfoil serve --workers`, with its default limits. */
export async function startAttackedWorkers(t: TestContext, workers: number): Promise<AttackedService> {
  const data = newData(t);
  const keys = await makeKeys(data);
  const service = await ServeProcess.start(t, {
    data,
    env,
    settings: payerPrice,
    workers,
    simulate: true,
    shedsLate: true,
  });
  const origin = await service.ready();
  await fill(origin, keys);
  return { origin, keys, pids: () => service.workerPids, logged: () => service.errors };
}

async function makeKeys(data: string): Promise<AttackKeys> {
  const publishable = { kind: 'publishable', scopes: ['payments:create'], origins: [shopOrigin] } as const;
  return {
    publishable: await newKey(data, publishable),
    honest: await newKey(data, { name: 'honest' }),
    stolen: await newKey(data, { name: 'stolen', scopes: ['tables:read', 'tables:write'] }),
  };
}

async function fill(origin: string, { honest }: AttackKeys): Promise<void> {
  for (const item of [create.body, { id: 'large', name: 'x'.repeat(300_000) }]) {
    const headers = { authorization: `Bearer ${honest}`, 'content-type': 'application/json' };
    const body = JSON.stringify(item);
    assert.equal((await fetch(origin + create.path, { method: 'POST', headers, body })).status, 200);
  }
}

/** Observes the memory and the connections of a service from outside while it is attacked. */
export class Watch {
  readonly #service: AttackedService;
  readonly #lookMs: number;
  readonly #since = new Map<string, number>();
  readonly #waitingSince = new Map<string, number>();
  readonly #over = new AbortController();
  readonly #watching: Promise<void>;
  residentBytes = 0;
  processes = new Set<number>();
  /** The longest time that a response has waited in a socket buffer for its reader. */
  waitingMsMax = 0;
  readonly #longest = new Map<string, number>();

  constructor(service: AttackedService, lookMs: number) {
    this.#service = service;
    this.#lookMs = lookMs;
    this.#watching = this.#watch();
  }

  async end(): Promise<void> {
    this.#over.abort();
    await this.#watching;
  }

  /** The longest time that a connection from this address has lasted. */
  longestMs(address: string): number {
    return this.#longest.get(address) ?? 0;
  }

  /** The number of connections from this address. */
  countOf(address: string): number {
    return this.#connections().filter(({ remoteAddress }) => remoteAddress === address).length;
  }

  #connections() {
    return this.#service.pids().flatMap(connectionsOf);
  }

  async #watch(): Promise<void> {
    while (!this.#over.signal.aborted) {
      for (const pid of this.#service.pids()) {
        this.processes.add(pid);
        this.residentBytes = Math.max(this.residentBytes, residentBytes(pid) || 0);
      }
      this.#look(performance.now());
      await sleep(this.#lookMs);
    }
  }

  #look(now: number): void {
    const connections = new Set<string>();
    const waiting = new Set<string>();
    for (const { remoteAddress, remotePort, bytesWaiting } of this.#connections()) {
      const id = `${remoteAddress}:${remotePort}`;
      connections.add(id);
      const ms = now - firstSeen(this.#since, id, now);
      this.#longest.set(remoteAddress, Math.max(this.longestMs(remoteAddress), ms));
      if (bytesWaiting === 0) continue;
      waiting.add(id);
      this.waitingMsMax = Math.max(this.waitingMsMax, now - firstSeen(this.#waitingSince, id, now));
    }
    for (const id of this.#since.keys()) if (!connections.has(id)) this.#since.delete(id);
    for (const id of this.#waitingSince.keys()) if (!waiting.has(id)) this.#waitingSince.delete(id);
  }
}

function firstSeen(since: Map<string, number>, id: string, now: number): number {
  const first = since.get(id) ?? now;
  since.set(id, first);
  return first;
}
