import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Environment, Program } from './environment.ts';
import { processesOf } from './memory.ts';
import { type Load, putUnderLoad } from './wrk.ts';

/** CPU time and resident memory of programs, all of their processes together. Linux only (/proc). */

/** `/proc` counts CPU time in ticks of this length on every Linux (proc(5), USER_HZ). */
const tickUs = 10_000;
const bytesPerKibibyte = 1_024;
const bytesPerMegabyte = 1_000_000;
/** Reading it walks the page tables of the processes, so seldom enough not to slow them. */
const sampleMs = 50;
/** A program that has used less CPU time in so long is idle. */
const idleMs = 200;
const idleCpuUs = 2 * tickUs;
const idleMsMax = 15_000;

export function processesOfAll(programs: readonly Program[]): number[] {
  return programs.flatMap(({ child }) => processesOf(child.pid));
}

/** User and system time since they began, in microseconds. */
export function cpuUs(processes: readonly number[]): number {
  const ticks = processes.map((pid) => {
    // After the name, which may contain any character, fields 3 and on (proc(5)); utime and stime are 14 and 15.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    return Number(fields[11]) + Number(fields[12]);
  });
  return ticks.reduce((sum, each) => sum + each, 0) * tickUs;
}

/**
 * Puts a server under load. @returns the CPU time of its processes per response, in microseconds. Other work on the machine
 * changes it less than it changes requests per second.
 */
export async function cpuUsPerRequest(
  environment: Environment,
  program: Program,
  load: Load,
): Promise<number> {
  const processes = processesOfAll([program]);
  const before = cpuUs(processes);
  const { requests } = await putUnderLoad(environment, load);
  return (cpuUs(processes) - before) / requests;
}

/** Waits until they have worked off what is left of a load, at most 15 s: it must not slow the next side. */
export async function untilIdle(processes: readonly number[]): Promise<void> {
  const deadline = performance.now() + idleMsMax;
  let before = cpuUs(processes);
  while (performance.now() < deadline) {
    await sleep(idleMs);
    const now = cpuUs(processes);
    if (now - before <= idleCpuUs) return;
    before = now;
  }
}

/** In megabytes. What is not anonymous is mapped from files, which the system can reclaim at any time. */
export interface Resident {
  readonly resident: number;
  readonly anonymous: number;
}

/** Pages that several processes share count for each of them. */
export function residentOf(processes: readonly number[]): Resident {
  const rollups = processes.map((pid) => readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'));
  const sum = (field: string) => {
    const kibibytes = rollups.map((text) =>
      Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1]),
    );
    return (kibibytes.reduce((all, each) => all + each, 0) * bytesPerKibibyte) / bytesPerMegabyte;
  };
  return { resident: sum('Rss'), anonymous: sum('Anonymous') };
}

/** The highest of each figure during the work. */
export async function peakResident(
  processes: readonly number[],
  work: () => Promise<void>,
): Promise<Resident> {
  let peak = residentOf(processes);
  const sample = () => {
    const { resident, anonymous } = residentOf(processes);
    peak = {
      resident: Math.max(peak.resident, resident),
      anonymous: Math.max(peak.anonymous, anonymous),
    };
  };
  const timer = setInterval(sample, sampleMs);
  try {
    await work();
    sample();
  } finally {
    clearInterval(timer);
  }
  return peak;
}
