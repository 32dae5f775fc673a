import { readdirSync, readFileSync } from 'node:fs';
import { setInterval as ticks } from 'node:timers/promises';

/** The memory of a program, all of its processes together. Linux only (/proc). */
const sampleMs = 5;
const kibibyte = 1_024;
const megabyte = 1_000_000;

/** Memory that no file backs, in megabytes: the system can reclaim the pages of a mapped store at any time. */
export function anonymousMegabytes(processes: readonly number[]): number {
  const kibibytes = processes.map((pid) => {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(/^RssAnon:\s+(\d+) kB$/m.exec(status)?.[1]);
  });
  return (kibibytes.reduce((sum, each) => sum + each, 0) * kibibyte) / megabyte;
}

/** The processes of a group: an environment starts each program in a group of its own. */
export function processesOf(group: number | undefined): number[] {
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return all.map(Number).filter((pid) => groupOf(pid) === group);
}

function groupOf(pid: number): number | undefined {
  try {
    // After the name, which may contain any character, come state, parent and group (proc(5)).
    const [, , group] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    return Number(group);
  } catch {
    // It has ended since it was listed.
    return undefined;
  }
}

/** The highest memory of the processes during the work. */
export async function peakDuring(processes: readonly number[], work: Promise<unknown>): Promise<number> {
  const done = new AbortController();
  const watching = watchPeak(processes, done.signal);
  try {
    await work;
  } finally {
    done.abort();
  }
  return watching;
}

async function watchPeak(processes: readonly number[], signal: AbortSignal): Promise<number> {
  let peak = anonymousMegabytes(processes);
  try {
    for await (const _ of ticks(sampleMs, undefined, { signal })) {
      peak = Math.max(peak, anonymousMegabytes(processes));
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  return Math.max(peak, anonymousMegabytes(processes));
}
