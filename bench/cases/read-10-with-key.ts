import { join } from 'node:path';
import type { Case } from '../case.ts';
import { compareInRounds, type Round } from '../measure.ts';
import { newKey, startService } from '../servers.ts';
import { putUnderLoad, usualConnections } from '../wrk.ts';

const path = '/v3/table/ten';
const items = Array.from({ length: 10 }, (_, index) => ({
  id: `item-${index}`,
  name: `The name of item number ${index}`,
}));

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
    await fill(checking, withKey);
    await fill(open, {});

    const load =
      (origin: string, headers: Readonly<Record<string, string>>) =>
      async ({ seconds }: Round) =>
        (await putUnderLoad(environment, { url: `${origin}${path}/read`, seconds, headers }))
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
          goal: { of: 'ratio', side: 'least', bound: 0.85 },
        },
      ],
      remarks: [],
    };
  },
};

async function fill(origin: string, headers: Readonly<Record<string, string>>): Promise<void> {
  for (const item of items) {
    const response = await fetch(`${origin}${path}/create`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(item),
    });
    if (response.status !== 200)
      throw new Error(`create returned ${response.status}: ${await response.text()}`);
  }
}
