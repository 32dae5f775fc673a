import { join } from 'node:path';
import { fillTables } from '../fixtures.ts';
import { startService } from '../servers.ts';
import { idPlaceholder, itemBody } from '../wrk.ts';
import { type Contender, newItems, pageItems, type Running, tables, tenItems } from './contender.ts';

/** Our service as `counterfoil serve` starts it, on the embedded store. */
export const counterfoil: Contender = {
  name: 'Counterfoil',
  durability: 'flushed before the response',
  remark: 'Counterfoil has its default settings and the embedded store, filled through its storage engine.',
  stores: true,
  prepare: async () => undefined,

  fill: (environment, folder, { items }) =>
    fillTables(
      environment,
      join(folder, 'data'),
      { [tables.ten]: tenItems, [tables.items]: items },
      () => undefined,
    ),

  start: async (environment, folder, conditions): Promise<Running> => {
    const { origin, program } = await startService(environment, conditions, join(folder, 'data'));
    const urlOf = (table: string) => `${origin}/v3/table/${table}`;
    const items = urlOf(tables.items);
    const count = conditions.sizes.medium;
    return {
      programs: [program],
      requests: {
        ten: { url: `${urlOf(tables.ten)}/read` },
        one: {
          url: `${items}/read?id=${idPlaceholder}`,
          requests: { method: 'GET', expected: '"an-item-', items: { kind: 'known', count } },
        },
        page: { url: `${items}/read?limit=${pageItems}` },
        create: {
          url: `${urlOf(tables.created)}/create`,
          requests: { method: 'POST', body: itemBody, items: newItems },
        },
        update: {
          url: `${items}/update`,
          requests: { method: 'PUT', body: itemBody, items: { kind: 'known', count } },
        },
      },
      whole: { url: `${items}/read` },
    };
  },
};
