import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Conditions } from './case.ts';
import { type Environment, within } from './environment.ts';
import { anonymousMegabytes, peakDuring, processesOf } from './memory.ts';
import { timeReads, type WholeResponse } from './reading.ts';
import { startService } from './servers.ts';

/** The wait after the start and after the reads, so that late allocations are measured too. */
export const settleMs = 1_000;
/** A stalled reader takes so many bytes of the response and then stops reading. */
export const stallBytes = 64 * 1_024;
const stallMsMax = 30_000;

export interface ReadsAtOnce {
  readonly data: string;
  readonly table: string;
  readonly response: WholeResponse;
  readonly readers: number;
  /** How many of the readers stop reading. */
  readonly stalled: number;
}

export interface Memory {
  readonly idle: number;
  readonly peak: number;
}

/** Anonymous memory of a newly started service in megabytes: before the reads, and the peak during them. */
export async function memoryOfReads(
  environment: Environment,
  conditions: Conditions,
  reads: ReadsAtOnce,
): Promise<Memory> {
  const service = await startService(environment, conditions, reads.data);
  try {
    await (await fetch(`${service.origin}/readyz`)).arrayBuffer();
    await sleep(settleMs);
    const processes = processesOf(service.program.child.pid);
    const idle = anonymousMegabytes(processes);
    const url = `${service.origin}/v3/table/${reads.table}/read`;
    return { idle, peak: await peakDuring(processes, readAtOnce(environment, url, reads)) };
  } finally {
    await environment.stop(service.program);
  }
}

async function readAtOnce(environment: Environment, url: string, reads: ReadsAtOnce): Promise<void> {
  const { readers, stalled, response } = reads;
  const sockets = await Promise.all(Array.from({ length: stalled }, () => stall(url)));
  try {
    const connections = readers - stalled;
    await timeReads(environment, { url, connections, seconds: 0, bodyBytes: response.bytes });
    await sleep(settleMs);
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

/** Sends a request, reads the beginning of the response and then stops reading. */
async function stall(url: string): Promise<Socket> {
  const { hostname, port, pathname, host } = new URL(url);
  const socket = connect(Number(port), hostname);
  const begun = new Promise<void>((resolve) => {
    let bytes = 0;
    socket.on('data', (piece) => {
      bytes += piece.length;
      if (bytes < stallBytes) return;
      socket.pause();
      resolve();
    });
  });
  socket.write(`GET ${pathname} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  await within(stallMsMax, Promise.race([begun, once(socket, 'close')]));
  // The service may close the connection of a stalled reader.
  socket.on('error', () => undefined);
  return socket;
}
