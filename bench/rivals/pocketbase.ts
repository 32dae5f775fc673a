import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Environment } from '../environment.ts';
import { itemAt } from '../items.ts';
import { countText } from '../measure.ts';
import { freePort, type Server, startListening } from '../servers.ts';
import { go, missingTool } from '../tools.ts';
import { idPlaceholder, itemBody } from '../wrk.ts';
import {
  type Contender,
  newItems,
  pageItems,
  type Running,
  tables,
  tenItems,
  versionedName,
} from './contender.ts';

const version = 'v0.36.0';
const buildMsMax = 600_000;
const superuser = { identity: 'bench@example.com', password: 'only-for-this-run' };

/** PocketBase's own ready-made program, built with Go. */
export const pocketbase: Contender = {
  name: 'PocketBase',
  durability: 'not flushed before the response (SQLite, WAL, `synchronous=NORMAL`)',
  remark:
    `PocketBase ${version} is its own \`examples/base\`, built with Go. Its collections have the fields id and name ` +
    'and empty, that is public, rules. It was filled through SQLite while it was stopped. Its request log, which ' +
    'would cost it a write, is off, lists skip the total (`skipTotal=1`), and a whole table is read in pages of ' +
    `${countText(pageItems)}, its maximum, by \`id>\` the last one, which is faster than its page numbers.`,
  stores: true,

  prepare: async (environment) => {
    const missing = missingTool(go);
    if (missing !== undefined) return missing;
    try {
      await environment.run('go', ['install', `github.com/pocketbase/pocketbase/examples/base@${version}`], {
        env: { GOBIN: environment.folder },
        msMax: buildMsMax,
      });
      return undefined;
    } catch (error) {
      return `could not be built: ${(error as Error).message.trimEnd().split('\n').at(-1)}`;
    }
  },

  fill: async (environment, folder, { items }) => {
    mkdirSync(folder, { recursive: true });
    const { identity, password } = superuser;
    await environment.run(programFile(environment), [
      'superuser',
      'upsert',
      identity,
      password,
      ...options(folder),
    ]);
    const server = await serve(environment, folder);
    await makeCollections(server.origin);
    await environment.stop(server.program);
    insert(folder, tables.ten, tenItems);
    insert(folder, tables.items, items);
  },

  start: async (environment, folder, { sizes }): Promise<Running> => {
    const { origin, program } = await serve(environment, folder);
    const urlOf = (table: string) => `${origin}/api/collections/${table}/records`;
    const items = urlOf(tables.items);
    const known = { kind: 'known', count: sizes.medium } as const;
    const page = `${items}?perPage=${pageItems}&skipTotal=1`;
    return {
      programs: [program],
      requests: {
        ten: { url: `${urlOf(tables.ten)}?perPage=${tenItems}&skipTotal=1` },
        one: {
          url: `${items}/${idPlaceholder}`,
          requests: { method: 'GET', expected: '"an-item-', items: known },
        },
        page: { url: page },
        create: {
          url: urlOf(tables.created),
          requests: { method: 'POST', body: itemBody, items: newItems },
        },
        update: {
          url: `${items}/${idPlaceholder}`,
          requests: { method: 'PATCH', body: JSON.stringify({ name: versionedName }), items: known },
        },
      },
      whole: { pageUrl: `${page}&sort=id&filter=id%3E'{last}'`, itemsPerPage: pageItems },
    };
  },
};

function programFile(environment: Environment): string {
  return join(environment.folder, 'base');
}

function options(folder: string): string[] {
  // A program in a temporary folder takes itself for one under development, and would log every statement.
  return ['--dev=false', '--dir', join(folder, 'pb_data')];
}

async function serve(environment: Environment, folder: string): Promise<Server> {
  const port = await freePort();
  const args = ['serve', `--http=127.0.0.1:${port}`, ...options(folder)];
  return startListening(environment.start(programFile(environment), args, { folder }), port);
}

async function makeCollections(origin: string): Promise<void> {
  const { token } = (await send(`${origin}/api/collections/_superusers/auth-with-password`, superuser)) as {
    token: string;
  };
  await send(`${origin}/api/settings`, { logs: { maxDays: 0 } }, token, 'PATCH');
  for (const name of Object.values(tables)) {
    await send(`${origin}/api/collections`, { name, type: 'base', ...rules, fields }, token);
  }
}

const rules = { listRule: '', viewRule: '', createRule: '', updateRule: '' };
const fields = [
  {
    name: 'id',
    type: 'text',
    system: true,
    primaryKey: true,
    required: true,
    min: 1,
    max: 255,
    pattern: '^[a-z0-9]+$',
    autogeneratePattern: '[a-z0-9]{15}',
  },
  { name: 'name', type: 'text', required: true },
];

async function send(url: string, body: object, token = '', method = 'POST'): Promise<unknown> {
  const response = await fetch(url, {
    method,
    headers: { 'content-type': 'application/json', authorization: token },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${url} returned ${response.status}: ${await response.text()}`);
  return response.json();
}

function insert(folder: string, table: string, count: number): void {
  const database = new DatabaseSync(join(folder, 'pb_data', 'data.db'));
  const statement = database.prepare(`INSERT INTO ${table} (id, name) VALUES (?, ?)`);
  database.exec('BEGIN');
  for (let index = 0; index < count; index++) {
    const { id, name } = itemAt(index);
    statement.run(id, name);
  }
  database.exec('COMMIT');
  database.close();
}
