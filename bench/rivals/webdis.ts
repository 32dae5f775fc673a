import { mkdirSync } from 'node:fs';
import { itemAt } from '../items.ts';
import { missingTool, redis, webdis as webdisTool } from '../tools.ts';
import { idPlaceholder } from '../wrk.ts';
import {
  type Contender,
  newItems,
  pageItems,
  type Running,
  tables,
  tenItems,
  versionedName,
} from './contender.ts';
import { sendCommands, startRedis, startWebdisAt } from './redis.ts';

/** Redis behind its HTTP server, each table a hash. */
export const webdis: Contender = {
  name: 'Redis behind webdis',
  durability: 'flushed before the response (`appendfsync always`)',
  remark:
    'Redis has `appendfsync always` and is behind webdis with two threads. A table is a hash: one item is HGET, a ' +
    `page HSCAN, whose nested response webdis returns as null, a whole table HGETALL, create HSETNX, and ` +
    'update HSET, which does not look whether the item exists. Redis keeps all items in memory.',
  stores: true,
  prepare: async () => missingTool(redis, webdisTool),

  fill: async (environment, folder, { items }) => {
    mkdirSync(folder, { recursive: true });
    const server = await startRedis(environment, folder);
    const commandOf = (table: string) => (index: number) => {
      const { id, name } = itemAt(index);
      return `HSET ${table} ${id} ${name}`;
    };
    await sendCommands(server.port, tenItems, commandOf(tables.ten));
    await sendCommands(server.port, items, commandOf(tables.items));
    await environment.stop(server.program);
  },

  start: async (environment, folder, { sizes }): Promise<Running> => {
    const redisServer = await startRedis(environment, folder);
    const { origin, program } = await startWebdisAt(environment, folder, redisServer.port);
    const known = { kind: 'known', count: sizes.medium } as const;
    return {
      programs: [redisServer.program, program],
      requests: {
        ten: { url: `${origin}/HGETALL/${tables.ten}` },
        one: {
          url: `${origin}/HGET/${tables.items}/${idPlaceholder}`,
          requests: { method: 'GET', expected: '"an-item-', items: known },
        },
        page: { url: `${origin}/HSCAN/${tables.items}/0/COUNT/${pageItems}` },
        create: {
          url: `${origin}/HSETNX/${tables.created}/${idPlaceholder}/${versionedName}`,
          requests: {
            method: 'GET',
            expected: '{"HSETNX":1}',
            items: newItems,
          },
        },
        update: {
          url: `${origin}/HSET/${tables.items}/${idPlaceholder}/${versionedName}`,
          requests: { method: 'GET', expected: '{"HSET":0}', items: known },
        },
      },
      whole: { url: `${origin}/HGETALL/${tables.items}` },
    };
  },
};
