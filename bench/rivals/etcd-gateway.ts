import { firstVersion, itemAt, nameText } from '../items.ts';
import { etcd, missingTool } from '../tools.ts';
import { idPlaceholder, versionPlaceholder } from '../wrk.ts';
import { type Contender, newItems, pageItems, type Running, tables, tenItems } from './contender.ts';
import { serveEtcd } from './etcd.ts';

/** etcd takes at most 128 operations in a transaction. */
const fillPuts = 100;
const fillsAtOnce = 8;

/** etcd over its HTTP gateway, which takes keys and values as base64 in JSON. */
export const etcdGateway: Contender = {
  name: 'etcd gateway',
  durability: 'flushed before the response',
  remark:
    'etcd has one member and is reached through its HTTP gateway, as a caller without gRPC would; the gateway costs ' +
    'more than gRPC. A table is a prefix. Create and update are an unconditional put. Keys and values are chosen so ' +
    'that their base64 has about the length of the other items. Its write-ahead log takes 64 MB in advance.',
  stores: true,
  prepare: async () => missingTool(etcd),

  fill: async (environment, folder, { items }) => {
    const { origin, program } = await serveEtcd(environment, folder);
    await put(origin, tables.ten, tenItems);
    await put(origin, tables.items, items);
    await environment.stop(program);
  },

  start: async (environment, folder, { sizes }): Promise<Running> => {
    const { origin, program } = await serveEtcd(environment, folder);
    const range = `${origin}/v3/kv/range`;
    const known = { kind: 'known', count: sizes.medium } as const;
    const putOf = (table: string, items: typeof known | typeof newItems) => ({
      url: `${origin}/v3/kv/put`,
      requests: {
        method: 'POST' as const,
        body: JSON.stringify({ key: keyOf(table, idPlaceholder), value: etcdValue(versionPlaceholder) }),
        items,
      },
    });
    return {
      programs: [program],
      requests: {
        ten: { url: range, body: JSON.stringify(rangeOf(tables.ten)) },
        one: {
          url: range,
          requests: {
            method: 'POST',
            body: JSON.stringify({ key: keyOf(tables.items, idPlaceholder) }),
            expected: '"value":"an',
            items: known,
          },
        },
        page: { url: range, body: JSON.stringify({ ...rangeOf(tables.items), limit: pageItems }) },
        create: putOf(tables.created, newItems),
        update: putOf(tables.items, known),
      },
      whole: { url: range, body: JSON.stringify(rangeOf(tables.items)) },
    };
  },
};

/** Three bytes, so that the digits of the id behind it are base64 of their own. */
function prefixOf(table: string): Buffer {
  return Buffer.from(table.slice(0, 3));
}

function keyOf(table: string, id: string): string {
  return prefixOf(table).toString('base64') + id;
}

/** Like the names of the other items, in the characters and with a length that base64 has. */
function etcdValue(version: string): string {
  return `${nameText(version).replaceAll('-', '/')}aa`;
}

function rangeOf(table: string): { readonly key: string; readonly range_end: string } {
  const prefix = prefixOf(table);
  const end = Buffer.from(prefix);
  end[2] = (end[2] as number) + 1;
  return { key: prefix.toString('base64'), range_end: end.toString('base64') };
}

async function put(origin: string, table: string, count: number): Promise<void> {
  let next = 0;
  const putAll = async () => {
    while (next < count) {
      const first = next;
      next += fillPuts;
      const success = Array.from({ length: Math.min(fillPuts, count - first) }, (_, index) => ({
        requestPut: { key: keyOf(table, itemAt(first + index).id), value: etcdValue(firstVersion) },
      }));
      const response = await fetch(`${origin}/v3/kv/txn`, {
        method: 'POST',
        body: JSON.stringify({ success }),
      });
      const text = await response.text();
      if (!response.ok) throw new Error(`etcd returned ${response.status}: ${text}`);
    }
  };
  await Promise.all(Array.from({ length: fillsAtOnce }, putAll));
}
