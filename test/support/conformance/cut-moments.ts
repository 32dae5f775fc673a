import { setTimeout as sleep } from 'node:timers/promises';
import type { Ended, Running } from '../command.ts';
import type { Random } from '../random.ts';
import type { PowerDisk } from './power-disk.ts';

/** Cuts beyond this share of the duration of a work happen after its end. */
const latestShare = 1.1;

/**
 * Random moments, in milliseconds, in which to cut the power during a work: one in each of as many equal parts of its duration, so that
 * few cuts hit its beginning, middle and end too.
 */
export function cutMoments(random: Random, cuts: number, durationMs: number): readonly number[] {
  return Array.from({ length: cuts }, (_, n) => ((n + random()) / cuts) * durationMs * latestShare);
}

/** The duration of a work, in milliseconds. */
export async function durationOf(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

/** Cuts the power some milliseconds after the start of a command, or right after its end. @returns how it ended */
export async function cutDuring(
  disk: PowerDisk,
  command: Running,
  moment: number | 'at its end',
): Promise<Ended> {
  await (moment === 'at its end' ? command.ended : sleep(moment));
  await disk.cut([command.pid]);
  return command.ended;
}
