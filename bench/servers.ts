import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Conditions } from './case.ts';
import { type Environment, firstLine, type Program, within } from './environment.ts';
import { sourceFile } from './source-file.ts';

/** Starts the servers that are measured. Ours print their origin; the ports of others are polled until they listen. */
export interface Server {
  /** `http://127.0.0.1:port` */
  readonly origin: string;
  readonly program: Program;
}

const listenPollMs = 5;
const listenMsMax = 30_000;

/** As `npm start` and the package start it. */
export const serviceFile = sourceFile('../bin/counterfoil.mjs');

/**
 * The service as its users start it, on a free port; with a new data folder unless one is given.
 *
 * @param settings further environment variables
 */
export async function startService(
  environment: Environment,
  { serveArguments }: Conditions,
  data = join(environment.folder, 'data'),
  settings: Readonly<Record<string, string>> = {},
): Promise<Server> {
  const env = { PORT: '0', COUNTERFOIL_DATA: data, ...settings };
  return waitUntilReady(
    environment.start(process.execPath, [serviceFile, 'serve', ...serveArguments], { env }),
  );
}

/** The same, with a line on standard error for each request and its duration. */
export async function startLoggingService(
  environment: Environment,
  { serveArguments }: Conditions,
): Promise<Server> {
  const data = join(environment.folder, 'data');
  const env = { PORT: '0', COUNTERFOIL_DATA: data, COUNTERFOIL_LOG_LEVEL: 'debug' };
  return waitUntilReady(
    environment.start(process.execPath, [serviceFile, 'serve', ...serveArguments], { env }),
  );
}

/** Creates an API key in a data folder, and the folder if there is none. */
export async function newKey(
  environment: Environment,
  data: string,
  scopes: readonly string[],
): Promise<string> {
  const args = [
    serviceFile,
    'keys',
    'create',
    '--name',
    'bench',
    ...scopes.flatMap((scope) => ['--scope', scope]),
  ];
  const text = await environment.run(process.execPath, args, { env: { COUNTERFOIL_DATA: data } });
  return text.trim();
}

/** The service with a simulated payment processor in another process. @param ledger its origin */
export async function startPayingService(
  environment: Environment,
  { serveArguments }: Conditions,
  ledger: string,
  data = join(environment.folder, 'data'),
): Promise<Server> {
  const env = {
    PORT: '0',
    COUNTERFOIL_DATA: data,
    COUNTERFOIL_SIMULATED_LEDGER: ledger,
    COUNTERFOIL_LOG_LEVEL: 'warn',
  };
  const args = [serviceFile, 'serve', '--simulate', ...serveArguments];
  return waitUntilReady(environment.start(process.execPath, args, { env }));
}

/** A payment processor that responds at once (`processor.ts`). */
export async function startProcessor(environment: Environment): Promise<Server> {
  return waitUntilReady(environment.start(process.execPath, [sourceFile('processor.ts')]));
}

/** A server that forwards charges to the processor without a record (`forwarder.ts`). */
export async function startForwarder(environment: Environment, processor: string): Promise<Server> {
  return waitUntilReady(environment.start(process.execPath, [sourceFile('forwarder.ts'), processor]));
}

/** A real identity provider (`identity-provider.ts`). @param redirectUri where it may redirect browsers to */
export async function startProvider(environment: Environment, redirectUri: string): Promise<Server> {
  return waitUntilReady(
    environment.start(process.execPath, [sourceFile('identity-provider.ts'), redirectUri], {
      folder: sourceFile('..'),
    }),
  );
}

/** The service up to one of its layers (`layer-server.ts`). @param data a folder with an API key */
export async function startLayer(
  environment: Environment,
  layer: string,
  bodyFile: string,
  data: string,
): Promise<Server> {
  const args = [sourceFile('layer-server.ts'), layer, bodyFile, data];
  return waitUntilReady(environment.start(process.execPath, args));
}

/** The yardstick, which responds to GET with the bytes of a file and to POST with the posted body. */
export async function startYardstick(
  environment: Environment,
  ...bodyFiles: readonly string[]
): Promise<Server> {
  return waitUntilReady(environment.start(process.execPath, [sourceFile('yardstick.ts'), ...bodyFiles]));
}

async function waitUntilReady(program: Program): Promise<Server> {
  const line = await firstLine(program, (candidate) => candidate.includes(' is ready on '));
  const origin = / is ready on (http:\/\/[^\s,]+)/.exec(line)?.[1];
  if (origin === undefined) throw new Error(`no origin in "${line}"`);
  return { origin, program };
}

/** Waits until another server accepts connections on the given port. */
export async function startListening(program: Program, port: number): Promise<Server> {
  // Discards the output, because a full pipe would block the server.
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

/** For servers that need a port number when they start. */
export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
