import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from '../environment.ts';
import { itemAt } from '../items.ts';
import { freePort, startListening } from '../servers.ts';
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

/** What npm installs without a version. */
const version = '0.17.4';
const installMsMax = 120_000;
/** It rewrites a file of megabytes for each write, 64 of them in a row before the first response leaves. */
const writeSeconds = 10;

/** json-server, a mock backend for development that many projects begin with. */
export const jsonServer: Contender = {
  name: 'json-server',
  durability: 'not flushed; each write rewrites the whole file',
  remark:
    `json-server ${version} is installed by npm into a temporary folder and runs with \`--quiet\`, on the same Node, ` +
    `from a \`db.json\` that the harness writes. Its writes are under load for at least ${writeSeconds} s. ` +
    'It is made for development, not for production.',
  stores: true,

  prepare: async (environment) => {
    const folder = packageFolder(environment);
    mkdirSync(folder);
    writeFileSync(join(folder, 'package.json'), '{ "private": true }');
    try {
      const args = ['install', '--no-audit', '--no-fund', `json-server@${version}`];
      await environment.run('npm', args, { folder, msMax: installMsMax });
      return undefined;
    } catch (error) {
      return `could not be installed: ${(error as Error).message.trimEnd().split('\n').at(-1)}`;
    }
  },

  fill: async (_environment, folder, { items }) => {
    mkdirSync(folder, { recursive: true });
    const rows = (count: number) => Array.from({ length: count }, (_, index) => itemAt(index));
    const all = { [tables.ten]: rows(tenItems), [tables.items]: rows(items), [tables.created]: [] };
    writeFileSync(databaseFile(folder), JSON.stringify(all));
  },

  start: async (environment, folder, { sizes }): Promise<Running> => {
    const port = await freePort();
    const program = environment.start(process.execPath, [
      join(packageFolder(environment), 'node_modules/json-server/lib/cli/bin.js'),
      '--quiet',
      '--port',
      String(port),
      databaseFile(folder),
    ]);
    const { origin } = await startListening(program, port);
    const items = `${origin}/${tables.items}`;
    const known = { kind: 'known', count: sizes.medium } as const;
    return {
      programs: [program],
      requests: {
        ten: { url: `${origin}/${tables.ten}` },
        one: {
          url: `${items}/${idPlaceholder}`,
          requests: { method: 'GET', expected: '"an-item-', items: known },
        },
        page: { url: `${items}?_page=1&_limit=${pageItems}` },
        create: {
          secondsLeast: writeSeconds,
          url: `${origin}/${tables.created}`,
          requests: { method: 'POST', body: itemBody, items: newItems },
        },
        update: {
          secondsLeast: writeSeconds,
          url: `${items}/${idPlaceholder}`,
          requests: { method: 'PATCH', body: JSON.stringify({ name: versionedName }), items: known },
        },
      },
      whole: { url: items },
    };
  },
};

function packageFolder(environment: Environment): string {
  return join(environment.folder, 'json-server');
}

function databaseFile(folder: string): string {
  return join(folder, 'db.json');
}
