import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { Agent, request as send } from 'node:http';
import { finished } from 'node:stream/promises';
import type { Environment } from './environment.ts';
import { anonymousMegabytes, processesOf } from './memory.ts';
import { cpuUs } from './resources.ts';
import { serviceFile } from './servers.ts';

/** Moves many items: files, the commands that read and write them, and batches over HTTP. */

const sampleMs = 20;
export const batchItems = 100;

export interface BulkItem {
  readonly id: string;
  readonly name: string;
}

/** About 80 bytes as JSON, each with another id and name. */
export function bulkItem(number: number): BulkItem {
  return {
    id: `item-${String(number).padStart(9, '0')}`,
    name: `The name of item number ${number}, which is as long`,
  };
}

/** The numbers below `count`, in an order in which no two neighbours are near each other. */
export function scattered(count: number): (index: number) => number {
  // A multiplication by a number without a common divisor is a permutation; the golden ratio scatters best.
  let step = Math.round(count * 0.618);
  while (divisorOf(step, count) > 1) step++;
  return (index) => (index * step) % count;
}

function divisorOf(one: number, other: number): number {
  return other === 0 ? one : divisorOf(other, one % other);
}

/** Writes a JSON Lines file. */
export async function writeItems(
  file: string,
  count: number,
  numberAt: (index: number) => number,
): Promise<void> {
  const stream = createWriteStream(file);
  for (let index = 0; index < count; index += batchItems) {
    let text = '';
    for (let each = index; each < Math.min(index + batchItems, count); each++)
      text += `${JSON.stringify(bulkItem(numberAt(each)))}\n`;
    if (!stream.write(text)) await once(stream, 'drain');
  }
  stream.end();
  await finished(stream);
}

export interface CommandCost {
  readonly seconds: number;
  /** User and system time, up to the last sample. */
  readonly cpuUs: number;
  /** The peak of what no file backs. */
  readonly megabytes: number;
}

/** Runs `counterfoil tables …` to its end. Throws when it fails. */
export async function runTables(
  environment: Environment,
  data: string,
  args: readonly string[],
): Promise<CommandCost> {
  const began = performance.now();
  const { child, failed } = environment.start(process.execPath, [serviceFile, 'tables', ...args], {
    env: { COUNTERFOIL_DATA: data },
  });
  child.stdout?.resume();
  let [cpu, megabytes] = [0, 0];
  const timer = setInterval(() => {
    try {
      const processes = processesOf(child.pid);
      if (processes.length === 0) return;
      cpu = cpuUs(processes);
      megabytes = Math.max(megabytes, anonymousMegabytes(processes) || 0);
    } catch {
      // It has ended since it was listed.
    }
  }, sampleMs);
  try {
    await failed;
  } catch (error) {
    if (child.exitCode !== 0) throw error;
  } finally {
    clearInterval(timer);
  }
  return { seconds: (performance.now() - began) / 1_000, cpuUs: cpu, megabytes };
}

export interface BatchLoad {
  readonly url: string;
  readonly items: number;
  readonly connections: number;
  readonly numberAt: (index: number) => number;
  readonly write: (item: BulkItem) => object;
}

/** Sends all items in batches. @returns the seconds it took. Throws when a response is not 200. */
export async function sendBatches({ url, items, connections, numberAt, write }: BatchLoad): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  let next = 0;
  const sender = async () => {
    while (next < items) {
      const from = next;
      next += batchItems;
      const length = Math.min(batchItems, items - from);
      const writes = Array.from({ length }, (_, n) => write(bulkItem(numberAt(from + n))));
      await post(agent, url, JSON.stringify({ writes }));
    }
  };
  const began = performance.now();
  try {
    await Promise.all(Array.from({ length: connections }, sender));
  } finally {
    agent.destroy();
  }
  return (performance.now() - began) / 1_000;
}

function post(agent: Agent, url: string, body: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    send(url, { agent, method: 'POST', headers }, (response) => {
      const fail = () => reject(new Error(`the service responded with ${response.statusCode}`));
      response.resume().on('end', () => (response.statusCode === 200 ? resolve() : fail()));
    })
      .on('error', reject)
      .end(body);
  });
}
