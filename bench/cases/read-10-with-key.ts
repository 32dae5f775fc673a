import { join } from 'node:path';
import type { Case } from '../case.ts';
import { compareInRounds, type Round } from '../measure.ts';
import { newKey, startService } from '../servers.ts';
import { createTen, tenTable } from '../ten-items.ts';
import { putUnderLoad, usualConnections } from '../wrk.ts';

/** The cost of authorization and limits, for the request that does the least other work. */
export const readTenWithKey: Case = {
  name: 'read-10-with-key',
  summary: 'reads a table of 10 items with an API key and limits, and without',

  async measure(environment, conditions) {
    const data = join(environment.folder, 'with-key');
    const key = await newKey(environment, data, ['tables:read', 'tables:write']);
    const withKey = { authorization: `Bearer ${key}` };
    // Limits are on, but higher than the load can reach.
    const limits = { COUNTERFOIL_LIMIT_REQUESTS: '1000000' };
    const { origin: checking } = await startService(environment, conditions, data, limits);
    const silent = { COUNTERFOIL_LOG_LEVEL: 'silent' };
    const { origin: open } = await startService(environment, conditions, undefined, silent);
    await createTen(checking, withKey);
    await createTen(open);

    const load =
      (origin: string, headers: Readonly<Record<string, string>>) =>
      async ({ seconds }: Round) =>
        (await putUnderLoad(environment, { url: `${origin}${tenTable}/read`, seconds, headers }))
          .requestsPerSecond;
    const figures = await compareInRounds(conditions, {
      open: load(open, {}),
      ours: load(checking, withKey),
    });
    return {
      rows: [
        {
          name: `read, 10 items, with a key and limits, ${usualConnections} connections`,
          unit: 'requests/s',
          ours: figures.ours,
          yardstick: { name: 'the same without keys, limits and logs', figures: figures.open },
          goal: { of: 'ratio', side: 'least', bound: 0.9 },
        },
      ],
      remarks: [],
    };
  },
};
