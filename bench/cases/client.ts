import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Counterfoil } from '../../client/src/index.ts';
import type { Case, Row } from '../case.ts';
import type { ClientCost } from '../client-cost.ts';
import { startService, startYardstick } from '../servers.ts';
import { sourceFile } from '../source-file.ts';

const table = 'ten';
const items = Array.from({ length: 10 }, (_, index) => ({
  id: `item-${index}`,
  name: `The name of item number ${index}`,
}));
/** Blocks of 100 requests of each side for a second of load: about as many as take that long. */
const blocksPerSecond = 40;

/**
 * What `@counterfoil/client` adds to a `fetch` of the same bytes, where it adds most: at a small response. Most of it is the
 * deadline: `fetch` with an `AbortSignal` of its own and a timer takes a tenth more than without.
 */
export const client: Case = {
  name: 'client',
  summary: 'reads a table of 10 items with the client, and with a bare fetch',

  async measure(environment, conditions) {
    const { origin: service } = await startService(environment, conditions);
    const stored = new Counterfoil({ url: service }).table(table);
    await stored.batch(items.map((item) => ({ create: item })));
    const body = JSON.stringify({ statusCode: 200, body: await stored.all() });
    const bodyFile = join(environment.folder, 'body.json');
    writeFileSync(bodyFile, body);
    const { origin: yardstick } = await startYardstick(environment, bodyFile);

    const rows: Row[] = [];
    for (const [from, origin] of Object.entries({ 'a bare node:http': yardstick, 'the service': service })) {
      const figures = { client: [] as number[], bare: [] as number[] };
      for (let round = 1; round <= conditions.rounds; round++) {
        const blocks = String(Math.ceil(conditions.seconds * blocksPerSecond));
        const args = [sourceFile('client-cost.ts'), origin, table, blocks];
        const cost = JSON.parse(await environment.run(process.execPath, args)) as ClientCost;
        figures.client.push(cost.client);
        figures.bare.push(cost.bare);
        conditions.log(`  round-${round}: client ${cost.client.toFixed(1)}, fetch ${cost.bare.toFixed(1)}`);
      }
      rows.push({
        name: `client: 1,000 reads of 10 items from ${from}, one at a time, processor time of the caller`,
        unit: 'ms',
        ours: figures.client,
        yardstick: { name: 'fetch and response.json()', figures: figures.bare },
        goal: { of: 'ratio', side: 'most', bound: 1.1 },
      });
    }
    return { rows, remarks: [`The body is ${body.length} bytes on all sides.`] };
  },
};
