import { join } from 'node:path';
import type { Case } from '../case.ts';
import { fixtureTable } from '../fixtures.ts';
import { compareInRounds, countText } from '../measure.ts';
import { serviceFile } from '../servers.ts';
import { pollMs, timeStart } from '../start-time.ts';

/** A restart with a huge table must not take longer than one without data. */
export const startFull: Case = {
  name: 'start-full',
  summary: 'times `serve` on a data folder with a huge table, from its start to the first 200 of /readyz',

  async measure(environment, conditions) {
    const { sizes, fixtures, serveArguments, log } = conditions;
    const full = await fixtures.with(environment, { [fixtureTable(sizes.huge)]: sizes.huge }, log);
    const empty = join(environment.folder, 'data');
    const startOn = (data: string) => () =>
      timeStart(environment, {
        command: process.execPath,
        args: [serviceFile, 'serve', ...serveArguments],
        folder: environment.folder,
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
      remarks: [`Without npm, polling /readyz every ${pollMs} ms; the files are in the system's page cache.`],
    };
  },
};
