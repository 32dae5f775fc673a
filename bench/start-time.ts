import { get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Environment, within } from './environment.ts';
import { freePort } from './servers.ts';

export const pollMs = 5;
const readyMsMax = 30_000;

export interface Start {
  readonly command: string;
  readonly args: readonly string[];
  readonly folder: string;
  readonly data: string;
}

/** Times the start of a command until the first 200 of the service that it starts, and stops the service. */
export async function timeStart(
  environment: Environment,
  { command, args, folder, data }: Start,
): Promise<number> {
  const port = await freePort();
  const env = { PORT: String(port), COUNTERFOIL_DATA: data };
  const began = performance.now();
  const program = environment.start(command, args, { folder, env });
  // Discards the output, because a full pipe would block the service.
  program.child.stdout?.resume();
  const polling = new AbortController();
  try {
    const ready = untilReady(`http://127.0.0.1:${port}/readyz`, polling.signal);
    return (await within(readyMsMax, Promise.race([ready, program.failed]))) - began;
  } finally {
    polling.abort();
    await environment.stop(program);
  }
}

/** @returns the time of the first 200, from `performance.now()` */
async function untilReady(url: string, signal: AbortSignal): Promise<number> {
  while (!signal.aborted && (await statusOf(url)) !== 200) await sleep(pollMs);
  return performance.now();
}

/** @returns undefined while the port is closed */
function statusOf(url: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    get(url, { agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode);
    }).once('error', () => resolve(undefined));
  });
}
