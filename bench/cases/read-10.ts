import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Case } from '../case.ts';
import { compareInRounds, type Round } from '../measure.ts';
import { startService, startYardstick } from '../servers.ts';
import { putUnderLoad, usualConnections } from '../wrk.ts';

const table = 'ten';
const items = Array.from({ length: 10 }, (_, index) => ({
  id: `item-${index}`,
  name: `The name of item number ${index}`,
}));

/** The most common request: a read of a small table. */
export const readTen: Case = {
  name: 'read-10',
  summary: 'reads a table of 10 items',

  async measure(environment, conditions) {
    const { origin: service } = await startService(environment, conditions);
    for (const item of items) await create(service, item);
    const path = `/v3/table/${table}/read`;
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
          goal: { of: 'ratio', side: 'least', bound: 0.85 },
        },
      ],
      remarks: [`The body is ${body.length} bytes on both sides.`],
    };
  },
};

async function create(service: string, item: { id: string; name: string }): Promise<void> {
  const response = await fetch(`${service}/v3/table/${table}/create`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(item),
  });
  if (response.status !== 200)
    throw new Error(`create returned ${response.status}: ${await response.text()}`);
}

/** Returns the service's own bytes, after checking that they are the whole table. */
async function readAll(url: string): Promise<Buffer> {
  const response = await fetch(url);
  const bytes = Buffer.from(await response.arrayBuffer());
  if (bytes.toString() !== JSON.stringify({ statusCode: 200, body: items })) {
    throw new Error(`read returned ${response.status}: ${bytes}`);
  }
  return bytes;
}
