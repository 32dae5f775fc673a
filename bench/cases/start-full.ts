import { join } from 'node:path';
import type { Case } from '../case.ts';
import { compareInRounds, countText } from '../measure.ts';
import { serviceFile } from '../servers.ts';
import { pollMs, timeStart } from '../start-time.ts';
import { stockTable } from '../stock.ts';

/** A restart must not take longer because there is much to serve. */
export const startFull: Case = {
  name: 'start-full',
  summary: 'from the start of `serve` on a data folder with a huge table to the first 200 of /readyz',

  async measure(workplace, conditions) {
    const { sizes, stock, serveArguments, tell } = conditions;
    const full = await stock.with(workplace, { [stockTable(sizes.huge)]: sizes.huge }, tell);
    const empty = join(workplace.folder, 'data');
    const startOn = (data: string) => () =>
      timeStart(workplace, {
        command: process.execPath,
        args: [serviceFile, 'serve', ...serveArguments],
        folder: workplace.folder,
        data,
      });
    const figures = await compareInRounds(conditions, { empty: startOn(empty), full: startOn(full) });
    return {
      rows: [
        {
          name: `start with ${countText(sizes.huge)} items`,
          unit: 'ms',
          ours: figures.full,
          yardstick: { name: 'start with none', figures: figures.empty },
          goal: { of: 'difference', side: 'most', bound: 50 },
        },
      ],
      remarks: [
        `Without npm, and asked for /readyz every ${pollMs} ms; the files are in the system's memory.`,
      ],
    };
  },
};
