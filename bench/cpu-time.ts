import { readFileSync } from 'node:fs';
import type { Environment, Program } from './environment.ts';
import { type Load, putUnderLoad } from './wrk.ts';

/** Linux counts CPU time in ticks of this length, however the kernel is built (man 7 time, USER_HZ). */
const tickUs = 10_000;

/** The CPU time of a process, user and system, of all its threads, in microseconds. */
export function cpuUsOf({ child }: Program): number {
  const text = readFileSync(`/proc/${child.pid}/stat`, 'utf8');
  // The command's name, in parentheses, may contain spaces.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * tickUs;
}

/**
 * Puts a server under load. @returns the CPU time of its process per response, in microseconds. Other work on the machine
 * changes it less than it changes requests per second.
 */
export async function cpuUsPerRequest(
  environment: Environment,
  program: Program,
  load: Load,
): Promise<number> {
  const before = cpuUsOf(program);
  const { requests } = await putUnderLoad(environment, load);
  return (cpuUsOf(program) - before) / requests;
}
