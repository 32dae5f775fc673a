import { existsSync } from 'node:fs';
import type { Case, Goal } from '../case.ts';
import { fixtureTable } from '../fixtures.ts';
import { countText, shortNumber } from '../measure.ts';
import { readOnce } from '../reading.ts';
import { memoryOfReads, settleMs, stallBytes } from '../reads-at-once.ts';
import { startService } from '../servers.ts';

const readers = 16;
const stalled = 1;
const goal: Goal = { of: 'difference', side: 'most', bound: 64 };

/** A response of any size is streamed, and a stalled reader does not make it pile up in memory. */
export const memory: Case = {
  name: 'memory',
  summary: `reads a large table ${readers} times at once, of which ${stalled} reader stalls`,

  async measure(environment, conditions) {
    const { sizes, fixtures, rounds, log } = conditions;
    const name = `memory of ${readers} reads of ${countText(sizes.large)} items, ${stalled} stalled`;
    if (!existsSync('/proc/self/status')) {
      return { rows: [{ name, goal, missing: 'needs /proc, as Linux has it' }], remarks: [] };
    }
    const table = fixtureTable(sizes.large);
    const data = await fixtures.with(environment, { [table]: sizes.large }, log);
    const service = await startService(environment, conditions, data);
    const response = await readOnce(`${service.origin}/v3/table/${table}/read`, sizes.large);
    await environment.stop(service.program);

    const figures = { idle: [] as number[], peak: [] as number[] };
    for (let round = 1; round <= rounds; round++) {
      const reads = { data, table, response, readers, stalled };
      const { idle, peak } = await memoryOfReads(environment, conditions, reads);
      figures.idle.push(idle);
      figures.peak.push(peak);
      log(`  round-${round}: idle ${shortNumber(idle)} MB, peak ${shortNumber(peak)} MB`);
    }
    return {
      rows: [
        { name, unit: 'MB', ours: figures.peak, yardstick: { name: 'idle', figures: figures.idle }, goal },
      ],
      remarks: [
        'Anonymous memory (RssAnon) of all processes of the service; the pages of the mapped store are not in it. ' +
          `Each round has a service of its own, which counts as idle ${settleMs / 1_000} s after its first response. ` +
          `One reader takes ${stallBytes / 1_024} KiB and then stops reading; the peak is sampled until ` +
          `${settleMs / 1_000} s after the others have finished.`,
      ],
    };
  },
};
