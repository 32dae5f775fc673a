import type { Worker } from 'node:worker_threads';
import type { Engine, ScanOptions, Space, Write } from '../../../src/storage/engine.ts';
import { openLmdbEngine, storeFile } from '../../../src/storage/lmdb/open.ts';
import { openStore } from '../../../src/storage/lmdb/store.ts';
import type { EngineRequest, EngineResponse } from './engine-process.ts';

/** The program of an `EngineProcess`: opens the given folder, reports that, and executes requests. */
let writer: Worker | undefined;
process.on('worker', (worker) => {
  writer = worker;
});

const folder = process.argv[2] as string;
process.send?.('opening');
const engine = openLmdbEngine(folder);

process.on('message', ({ number, verb, values }: EngineRequest) => {
  void execute(verb, values).then(
    (result) => respond({ number, result }),
    (error: Error & { code?: string }) => respond({ number, error: error.code ?? error.message }),
  );
});
process.on('disconnect', () => process.exit());
process.send?.('open');

function respond(message: EngineResponse): void {
  process.send?.(message);
}

async function execute(verb: string, values: readonly unknown[]): Promise<unknown> {
  const [space, second] = values as [Space, string];
  if (verb === 'get') return engine.get(space, second);
  if (verb === 'describe') return engine.describe(space);
  if (verb === 'commit') return engine.commit(values[0] as Write[]);
  if (verb === 'text') return textOf(engine, space, values[1] as ScanOptions);
  if (verb === 'close') return engine.close();
  // This message is not a string, so that the writer thread throws an uncaught error.
  if (verb === 'break writer') return writer?.postMessage(null);
  if (verb === 'end writer') return writer?.terminate();
  if (verb === 'die in a transaction')
    return openStore(storeFile(folder)).write(() => process.kill(process.pid, 'SIGKILL'));
  throw new Error(`there is no verb ${verb}`);
}

async function textOf(from: Engine, space: Space, options: ScanOptions): Promise<string | undefined> {
  const scan = await from.scan(space, options);
  if (scan === undefined) return undefined;
  const chunks = await Array.fromAsync(scan.chunks, (chunk) => chunk.toString());
  return chunks.join('');
}
