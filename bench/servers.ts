import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Conditions } from './case.ts';
import { sourceFile } from './source-file.ts';
import { firstLine, type Program, type Workplace, within } from './workplace.ts';

/** How the servers that are measured come up: our own tell their origin, others are asked until they answer. */
export interface Server {
  /** `http://127.0.0.1:port` */
  readonly origin: string;
  readonly program: Program;
}

const listenPollMs = 20;
const listenMsMax = 30_000;

export const serviceFile = sourceFile('../src/cli/counterfoil.ts');

/**
 * The service as its users start it, on a free port; on new data unless a data folder is given.
 *
 * @param settings further environment variables
 */
export async function startService(
  workplace: Workplace,
  { serveArguments }: Conditions,
  data = join(workplace.folder, 'data'),
  settings: Readonly<Record<string, string>> = {},
): Promise<Server> {
  const env = { PORT: '0', COUNTERFOIL_DATA: data, ...settings };
  return startTelling(workplace.start(process.execPath, [serviceFile, 'serve', ...serveArguments], { env }));
}

/** The same, with further settings. */
export async function startServiceIn(
  workplace: Workplace,
  { serveArguments }: Pick<Conditions, 'serveArguments'>,
  env: Readonly<Record<string, string>>,
): Promise<Server> {
  const all = { PORT: '0', COUNTERFOIL_DATA: join(workplace.folder, 'data'), ...env };
  return startTelling(
    workplace.start(process.execPath, [serviceFile, 'serve', ...serveArguments], { env: all }),
  );
}

/** The same, with a line on standard error for each request that says how long it took. */
export async function startTellingService(
  workplace: Workplace,
  { serveArguments }: Conditions,
): Promise<Server> {
  const data = join(workplace.folder, 'data');
  const env = { PORT: '0', COUNTERFOIL_DATA: data, COUNTERFOIL_LOG_LEVEL: 'debug' };
  return startTelling(workplace.start(process.execPath, [serviceFile, 'serve', ...serveArguments], { env }));
}

/** A new API key in a data folder, which is made where there is none. */
export async function newKey(workplace: Workplace, data: string, scopes: readonly string[]): Promise<string> {
  const args = [
    serviceFile,
    'keys',
    'create',
    '--name',
    'bench',
    ...scopes.flatMap((scope) => ['--scope', scope]),
  ];
  const text = await workplace.run(process.execPath, args, { env: { COUNTERFOIL_DATA: data } });
  return text.trim();
}

/** The same, with a simulated payment processor of another process. @param ledger its origin */
export async function startPayingService(
  workplace: Workplace,
  { serveArguments }: Conditions,
  ledger: string,
  data = join(workplace.folder, 'data'),
): Promise<Server> {
  const env = {
    PORT: '0',
    COUNTERFOIL_DATA: data,
    COUNTERFOIL_SIMULATED_LEDGER: ledger,
    COUNTERFOIL_LOG_LEVEL: 'warn',
  };
  const args = [serviceFile, 'serve', '--simulate', ...serveArguments];
  return startTelling(workplace.start(process.execPath, args, { env }));
}

/** A payment processor that answers at once (`processor.ts`). */
export async function startProcessor(workplace: Workplace): Promise<Server> {
  return startTelling(workplace.start(process.execPath, [sourceFile('processor.ts')]));
}

/** What hands charges on to the processor and keeps no record (`forwarder.ts`). */
export async function startForwarder(workplace: Workplace, processor: string): Promise<Server> {
  return startTelling(workplace.start(process.execPath, [sourceFile('forwarder.ts'), processor]));
}

/** A real identity provider (`identity-provider.ts`). @param redirectUri where it may send browsers back to */
export async function startProvider(workplace: Workplace, redirectUri: string): Promise<Server> {
  return startTelling(
    workplace.start(process.execPath, [sourceFile('identity-provider.ts'), redirectUri], {
      folder: sourceFile('..'),
    }),
  );
}

/** The yardstick, which answers GET with the bytes of a file and sends back what is posted. */
export async function startYardstick(workplace: Workplace, bodyFile?: string): Promise<Server> {
  const args = [sourceFile('yardstick.ts'), ...(bodyFile === undefined ? [] : [bodyFile])];
  return startTelling(workplace.start(process.execPath, args));
}

async function startTelling(program: Program): Promise<Server> {
  const line = await firstLine(program, (candidate) => candidate.includes(' is ready on '));
  const origin = / is ready on (http:\/\/[^\s,]+)/.exec(line)?.[1];
  if (origin === undefined) throw new Error(`no origin in "${line}"`);
  return { origin, program };
}

/** A server of others, once it takes connections on the port that it was told. */
export async function startListening(program: Program, port: number): Promise<Server> {
  // Nobody reads it, but a full pipe would stop the server.
  program.child.stdout?.resume();
  const polling = new AbortController();
  try {
    await within(listenMsMax, Promise.race([untilListening(port, polling.signal), program.failed]));
  } finally {
    polling.abort();
  }
  return { origin: `http://127.0.0.1:${port}`, program };
}

async function untilListening(port: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && !(await isListening(port))) await sleep(listenPollMs);
}

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/** For those who must be told their port before they start. */
export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
