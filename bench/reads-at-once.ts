import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Conditions } from './case.ts';
import { anonymousMegabytes, peakDuring, processesOf } from './memory.ts';
import { timeReads, type WholeAnswer } from './reading.ts';
import { startService } from './servers.ts';
import { type Workplace, within } from './workplace.ts';

/** After a start and after the reads: what comes late is to be seen too. */
export const settleMs = 1_000;
/** What a stalled reader takes; with the rest of the answer still to come it reads no further. */
export const stallBytes = 64 * 1_024;
const stallMsMax = 30_000;

export interface ReadsAtOnce {
  readonly data: string;
  readonly table: string;
  readonly answer: WholeAnswer;
  readonly readers: number;
  /** How many of the readers stop reading. */
  readonly stalled: number;
}

export interface Memory {
  readonly idle: number;
  readonly peak: number;
}

/** Anonymous memory in megabytes of a freshly started service: before the reads, and at most during them. */
export async function memoryOfReads(
  workplace: Workplace,
  conditions: Conditions,
  reads: ReadsAtOnce,
): Promise<Memory> {
  const service = await startService(workplace, conditions, reads.data);
  try {
    await (await fetch(`${service.origin}/readyz`)).arrayBuffer();
    await sleep(settleMs);
    const processes = processesOf(service.program.child.pid);
    const idle = anonymousMegabytes(processes);
    const url = `${service.origin}/v3/table/${reads.table}/read`;
    return { idle, peak: await peakDuring(processes, readAtOnce(workplace, url, reads)) };
  } finally {
    await workplace.stop(service.program);
  }
}

async function readAtOnce(workplace: Workplace, url: string, reads: ReadsAtOnce): Promise<void> {
  const { readers, stalled, answer } = reads;
  const sockets = await Promise.all(Array.from({ length: stalled }, () => stall(url)));
  try {
    const connections = readers - stalled;
    await timeReads(workplace, { url, connections, seconds: 0, bodyBytes: answer.bytes });
    await sleep(settleMs);
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

/** A reader that asks, takes the beginning of the answer and nothing more. */
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
  // It may be cut off for its slowness, which is the service's good right.
  socket.on('error', () => undefined);
  return socket;
}
