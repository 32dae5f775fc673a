import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Case } from '../case.ts';
import { compareInRounds, type Round } from '../measure.ts';
import { startService, startYardstick } from '../servers.ts';
import { createTen, tenItems, tenTable } from '../ten-items.ts';
import { putUnderLoad, usualConnections } from '../wrk.ts';

/** The most common request: a read of a small table. */
export const readTen: Case = {
  name: 'read-10',
  summary: 'reads a table of 10 items',

  async measure(environment, conditions) {
    const { origin: service } = await startService(environment, conditions);
    await createTen(service);
    const path = `${tenTable}/read`;
    const body = await readAll(service + path);

    const bodyFile = join(environment.folder, 'body.json');
    writeFileSync(bodyFile, body);
    const { origin: yardstick } = await startYardstick(environment, bodyFile);

    const load =
      (origin: string) =>
      async ({ seconds }: Round) =>
        (await putUnderLoad(environment, { url: origin + path, seconds })).requestsPerSecond;
    const figures = await compareInRounds(conditions, { yardstick: load(yardstick), ours: load(service) });
    return {
      rows: [
        {
          name: `read, 10 items, ${usualConnections} connections`,
          unit: 'requests/s',
          ours: figures.ours,
          yardstick: { name: 'bare node:http, same bytes', figures: figures.yardstick },
          goal: { of: 'ratio', side: 'least', bound: 0.8 },
        },
      ],
      remarks: [`The body is ${body.length} bytes on both sides.`],
    };
  },
};

/** Returns the service's own bytes, after checking that they are the whole table. */
async function readAll(url: string): Promise<Buffer> {
  const response = await fetch(url);
  const bytes = Buffer.from(await response.arrayBuffer());
  if (bytes.toString() !== JSON.stringify({ statusCode: 200, body: tenItems })) {
    throw new Error(`read returned ${response.status}: ${bytes}`);
  }
  return bytes;
}
