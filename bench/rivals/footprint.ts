import { setTimeout as sleep } from 'node:timers/promises';
import type { Conditions } from '../case.ts';
import { bytesOnDisk } from '../disk.ts';
import { type Environment, within } from '../environment.ts';
import { idNumber, streamItems, takeStream } from '../items.ts';
import { peakResident, processesOfAll, type Resident, residentOf } from '../resources.ts';
import { type Contender, type Request, type Running, sendOne } from './contender.ts';
import { readWhole, wholeBytes } from './whole-table.ts';

/** What a contender takes of the machine: time to start, memory before and during the same work, and disk space. */
export interface Footprint {
  readonly startMs: number;
  readonly idle: Resident;
  readonly peak: Resident;
}

/** The work of every contender between idle and peak. Few writes: json-server writes its whole file for each. */
export const work = { wholeReads: 4, reads: 2_000, creates: 200 } as const;
const atOnce = 64;
/** From the first response, so that what a start leaves behind is over. */
export const settleMs = 5_000;
const pollMs = 5;
const firstMsMax = 60_000;
const bytesPerMegabyte = 1_000_000;

/** Starts it on a filled folder, has it do the work, and stops it. */
export async function footprintOf(
  environment: Environment,
  conditions: Conditions,
  contender: Contender,
  folder: string,
): Promise<Footprint> {
  const began = performance.now();
  const running = await contender.start(environment, folder, conditions);
  try {
    await within(firstMsMax, firstResponse(running.requests.ten));
    const startMs = performance.now() - began;
    await sleep(settleMs);
    const processes = processesOfAll(running.programs);
    const idle = residentOf(processes);
    const bytes = await wholeBytes(running.whole, conditions.sizes.medium);
    const peak = await peakResident(processes, () => doWork(environment, conditions, running, bytes));
    return { startMs, idle, peak };
  } finally {
    await stopAll(environment, running);
  }
}

export function megabytesOnDisk(folder: string): number {
  return bytesOnDisk(folder) / bytesPerMegabyte;
}

/** In the reverse order of their start. */
export async function stopAll(environment: Environment, { programs }: Running): Promise<void> {
  for (const program of programs.toReversed()) await environment.stop(program);
}

async function firstResponse(request: Request): Promise<void> {
  for (;;) {
    try {
      await sendOne(request, idNumber(0));
      return;
    } catch {
      await sleep(pollMs);
    }
  }
}

async function doWork(
  environment: Environment,
  { sizes }: Conditions,
  { requests, whole }: Running,
  bytes: number,
): Promise<void> {
  await readWhole(environment, whole, bytes, {
    items: sizes.medium,
    connections: work.wholeReads,
    seconds: 0,
  });
  await sendMany(requests.one, work.reads, (index) => index % sizes.medium);
  const stream = takeStream();
  await sendMany(requests.create, work.creates, (index) => stream * streamItems + index);
}

async function sendMany(request: Request, count: number, itemOf: (index: number) => number): Promise<void> {
  let next = 0;
  const sendAll = async () => {
    while (next < count) await sendOne(request, idNumber(itemOf(next++)));
  };
  await Promise.all(Array.from({ length: atOnce }, sendAll));
}
