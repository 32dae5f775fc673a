import { closeSync, fdatasyncSync, openSync, statfsSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Case } from '../case.ts';
import { compareInRounds, putUnderLoad, type Round, spreadOf } from '../measure.ts';

const script = fileURLToPath(new URL('../create.lua', import.meta.url));
/** What `statfs` calls file systems that are memory (linux/magic.h: tmpfs, ramfs). */
const memoryFileSystems: readonly number[] = [0x01021994, 0x858458f6];
const flushBytes = 4_096;
const flushRuns = 101;

/** What no service can answer from memory: each 200 says that the item is on disk. */
export const create: Case = {
  name: 'create',
  summary: 'creates an item durably, each under a new random id',
  goal: { kind: 'ratio', least: 0.35 },

  async measure(workplace, conditions) {
    refuseMemory(workplace.folder);
    const flushMs = spreadOf(timeFlushes(join(workplace.folder, 'flushed'))).median;
    const service = await workplace.startService();
    const yardstick = await workplace.startYardstick();

    // Each round has a table of its own, so that none begins with the items of those before it.
    const load = (origin: string, { label, number, seconds }: Round) =>
      putUnderLoad(workplace, {
        url: `${origin}/v3/table/${label}/create`,
        seconds,
        script: { path: script, args: [String(number)] },
      });
    const figures = await compareInRounds(conditions, {
      yardstick: async (round) => (await load(yardstick, round)).requestsPerSecond,
      ours: async (round) => {
        const { requests, requestsPerSecond } = await load(service, round);
        await checkStored(`${service}/v3/table/${round.label}/read`, requests);
        return requestsPerSecond;
      },
    });
    return {
      unit: 'requests/s',
      ours: figures.ours,
      yardstick: { name: 'bare node:http server, JSON echo', figures: figures.yardstick },
      remarks: [
        `One write of ${flushBytes / 1_024} KiB with its flush took ${flushMs.toFixed(2)} ms on this disk ` +
          `(median of ${flushRuns}).`,
      ],
    };
  },
};

/** A flush to memory costs nothing, so that the figure would promise what no disk can keep. */
function refuseMemory(folder: string): void {
  if (!memoryFileSystems.includes(statfsSync(folder).type)) return;
  throw new Error(
    `${folder} is in memory, where nothing is durable; run again with TMPDIR set to a folder on a disk, ` +
      'for instance TMPDIR=/var/tmp',
  );
}

function timeFlushes(file: string): number[] {
  const descriptor = openSync(file, 'w');
  const bytes = Buffer.alloc(flushBytes, 1);
  try {
    return Array.from({ length: flushRuns }, () => {
      const began = performance.now();
      writeSync(descriptor, bytes, 0, bytes.length, 0);
      fdatasyncSync(descriptor);
      return performance.now() - began;
    });
  } finally {
    closeSync(descriptor);
  }
}

/** Whether the table holds all that was answered 200; those under way when wrk left may have come in as well. */
async function checkStored(url: string, answered: number): Promise<void> {
  const { body } = (await (await fetch(url)).json()) as { body: readonly unknown[] };
  if (body.length < answered) throw new Error(`${answered} creates were answered, ${body.length} are stored`);
}
