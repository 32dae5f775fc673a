import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { itemAt } from '../items.ts';
import { startYardstick } from '../servers.ts';
import { itemBody, type Requests } from '../wrk.ts';
import { type Contender, newItems, pageItems, type Running, tenItems } from './contender.ts';

const counts = (items: number) => ({ ten: tenItems, one: 1, page: pageItems, whole: items });
type Body = keyof ReturnType<typeof counts>;

/** The least that HTTP costs on Node: it returns bytes from memory, and stores nothing. */
export const nodeHttp: Contender = {
  name: 'bare node:http',
  durability: 'stores nothing',
  remark:
    'Bare `node:http` (`bench/yardstick.ts`) returns from memory the bytes that Counterfoil returns, and parses and ' +
    'repeats the body of a write: a bound on what HTTP costs, not a store.',
  stores: false,
  prepare: async () => undefined,

  fill: async (_environment, folder, { items }) => {
    mkdirSync(folder, { recursive: true });
    for (const [name, count] of Object.entries(counts(items))) {
      const body = Array.from({ length: Math.min(count, items) }, (_, index) => itemAt(index));
      writeFileSync(bodyFile(folder, name as Body), JSON.stringify({ statusCode: 200, body }));
    }
  },

  start: async (environment, folder): Promise<Running> => {
    const names = ['ten', 'one', 'page', 'whole'] as const;
    const files = names.map((name) => bodyFile(folder, name));
    const { origin, program } = await startYardstick(environment, ...files);
    const urlOf = (name: Body) => `${origin}/${name}.json`;
    const echoed = (method: 'POST' | 'PUT'): { url: string; requests: Requests } => ({
      url: `${origin}/`,
      requests: { method, body: itemBody, items: newItems },
    });
    return {
      programs: [program],
      requests: {
        ten: { url: urlOf('ten') },
        one: { url: urlOf('one') },
        page: { url: urlOf('page') },
        create: echoed('POST'),
        update: echoed('PUT'),
      },
      whole: { url: urlOf('whole') },
    };
  },
};

function bodyFile(folder: string, name: Body): string {
  return join(folder, `${name}.json`);
}
