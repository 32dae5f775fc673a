import { PassThrough } from 'node:stream';
import type { TestContext } from 'node:test';
import { tableRoutes } from '../../../src/http/routes/tables.ts';
import { openApp } from '../../../src/http/server/app.ts';
import { Listener } from '../../../src/http/server/listener.ts';
import { openLog } from '../../../src/log.ts';
import type { Engine, Scan } from '../../../src/storage/engine.ts';
import { Tables } from '../../../src/tables/tables.ts';
import { unguarded } from '../http/unguarded.ts';
import type { Item } from './filled-tables.ts';

export interface AppOverEngine {
  readonly origin: string;
  /** Every log line so far. */
  readonly logged: () => string;
}

/** Opens the real app with its table routes over an engine that a test provides. */
export async function openAppOver(t: TestContext, engine: Partial<Engine>): Promise<AppOverEngine> {
  const lines = new PassThrough();
  const log: string[] = [];
  lines.on('data', (line: Buffer) => log.push(line.toString()));
  const tables = new Tables({ ...emptyEngine, ...engine }, { tables: 'open', declared: [] });
  const listener = await Listener.listen({ host: '127.0.0.1', port: 0 });
  const app = await openApp(listener, {
    log: openLog('debug', lines),
    ...unguarded,
    isStopping: () => false,
    routes: [tableRoutes(tables, '', [])],
  });
  t.after(async () => {
    await listener.stop();
    await app.close();
  });
  return { origin: listener.origin, logged: () => log.join('') };
}

const emptyEngine: Engine = {
  reads: 'snapshot',
  spaces: async () => [],
  get: async () => undefined,
  describe: async () => undefined,
  count: async () => undefined,
  removeSpace: async () => 'missing',
  scan: async () => undefined,
  commit: async () => undefined,
  checkWritable: async () => undefined,
  close: async () => undefined,
};

/** The text of a scan, an item in each chunk. */
export function readChunks(all: readonly Item[]): readonly Buffer[] {
  return all.map((item, index) => Buffer.from(`${index === 0 ? '' : ','}${JSON.stringify(item)}`));
}

/** A scan whose count and length are those of `all`, even if its chunks are others. */
export function scanOf(all: readonly Buffer[], chunks: Scan['chunks'] = all): Scan {
  return { count: all.length, textBytes: Buffer.concat(all).length, version: 'v1', chunks };
}
