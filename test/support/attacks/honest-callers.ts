import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { payment, readPath } from '../http/documented-operations.ts';
import type { AttackKeys } from './attack-request.ts';
import { shopOrigin } from './attacked-service.ts';

const readPauseMs = 10;
/** Well within the limit of charges of the shop's key. */
const payPauseMs = 50;
const responseMsMax = 20_000;

/** The results of honest callers. */
export class Served {
  readonly ms: number[] = [];
  readonly failures: Record<string, number> = {};
  served = 0;

  note(began: number, status: number | string): void {
    this.ms.push(performance.now() - began);
    if (status === 200) this.served++;
    else this.failures[status] = (this.failures[status] ?? 0) + 1;
  }

  get sent(): number {
    return this.ms.length;
  }

  /** The time within which a part of the requests received a response. */
  msWithin(part: number): number {
    const sorted = this.ms.toSorted((one, other) => one - other);
    return Math.round(sorted[Math.floor(sorted.length * part)] ?? 0);
  }
}

/**
 * Runs a server of the shop that reads an item repeatedly on one connection, and shoppers who pay from many addresses.
 */
export async function callHonestly(
  origin: string,
  keys: AttackKeys,
  signal: AbortSignal,
  figures = new Served(),
): Promise<Served> {
  await Promise.all([read(origin, keys, signal, figures), pay(origin, keys, signal, figures)]);
  return figures;
}

async function read(origin: string, keys: AttackKeys, signal: AbortSignal, figures: Served): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const headers = { authorization: `Bearer ${keys.honest}` };
  const options = { agent, headers, localAddress: '127.0.1.1' };
  while (!signal.aborted) {
    const began = performance.now();
    figures.note(began, await statusOf(`${origin}${readPath}?id=a`, options));
    await sleep(readPauseMs);
  }
  agent.destroy();
}

async function pay(origin: string, keys: AttackKeys, signal: AbortSignal, figures: Served): Promise<void> {
  const headers = {
    authorization: `Bearer ${keys.publishable}`,
    origin: shopOrigin,
    'content-type': 'application/json',
  };
  for (let n = 0; !signal.aborted; n++) {
    const localAddress = `127.0.${2 + ((n >> 8) % 32)}.${1 + (n % 254)}`;
    const options = { method: 'POST', agent: new Agent(), headers, localAddress };
    const began = performance.now();
    figures.note(began, await statusOf(origin + payment.path, options, JSON.stringify(payment.body)));
    await sleep(payPauseMs);
  }
}

function statusOf(url: string, options: object, body?: string): Promise<number | string> {
  return new Promise((resolve) => {
    const sent = request(url, { ...options, timeout: responseMsMax }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (bytes: Buffer) => chunks.push(bytes));
      response.once('error', ({ message }) => resolve(message));
      response.once('end', () => {
        const { statusCode = 0 } = response;
        resolve(statusCode === 200 ? 200 : `${statusCode} ${codeOf(Buffer.concat(chunks).toString())}`);
      });
    });
    sent.once('timeout', () => sent.destroy(new Error('no response in time')));
    sent.once('error', ({ message }) => resolve(message));
    sent.end(body);
  });
}

/** The error code of a response. A response without one is from the proxy. */
function codeOf(text: string): string {
  return /"code":"(\w+)"/.exec(text)?.[1] ?? 'from the proxy';
}
