import { existsSync } from 'node:fs';
import type { Case, Goal } from '../case.ts';
import { countText, shortNumber } from '../measure.ts';
import { readOnce } from '../reading.ts';
import { memoryOfReads, settleMs, stallBytes } from '../reads-at-once.ts';
import { startService } from '../servers.ts';
import { stockTable } from '../stock.ts';

const readers = 16;
const stalled = 1;
const goal: Goal = { of: 'difference', side: 'most', bound: 64 };

/** An answer of any size must pass through, and whoever stops reading must not make it pile up. */
export const memory: Case = {
  name: 'memory',
  summary: `has a large table read ${readers} times at once, by ${stalled} reader that stalls`,

  async measure(workplace, conditions) {
    const { sizes, stock, rounds, tell } = conditions;
    const name = `memory of ${readers} reads of ${countText(sizes.large)} items, ${stalled} stalled`;
    if (!existsSync('/proc/self/status')) {
      return { rows: [{ name, goal, missing: 'needs /proc, as Linux has it' }], remarks: [] };
    }
    const table = stockTable(sizes.large);
    const data = await stock.with(workplace, { [table]: sizes.large }, tell);
    const service = await startService(workplace, conditions, data);
    const answer = await readOnce(`${service.origin}/v3/table/${table}/read`, sizes.large);
    await workplace.stop(service.program);

    const figures = { idle: [] as number[], peak: [] as number[] };
    for (let round = 1; round <= rounds; round++) {
      const reads = { data, table, answer, readers, stalled };
      const { idle, peak } = await memoryOfReads(workplace, conditions, reads);
      figures.idle.push(idle);
      figures.peak.push(peak);
      tell(`  round-${round}: idle ${shortNumber(idle)} MB, peak ${shortNumber(peak)} MB`);
    }
    return {
      rows: [
        { name, unit: 'MB', ours: figures.peak, yardstick: { name: 'idle', figures: figures.idle }, goal },
      ],
      remarks: [
        'Anonymous memory (RssAnon) of all processes of the service; the pages of the mapped store are not in it. ' +
          `Each round has a service of its own and calls it idle ${settleMs / 1_000} s after its first answer. One ` +
          `reader takes ${stallBytes / 1_024} KiB and then nothing more; the peak is looked for until the others are ` +
          `through and ${settleMs / 1_000} s longer.`,
      ],
    };
  },
};
