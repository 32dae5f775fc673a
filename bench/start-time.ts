import { get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './servers.ts';
import { type Workplace, within } from './workplace.ts';

export const pollMs = 5;
const readyMsMax = 30_000;

export interface Start {
  readonly command: string;
  readonly args: readonly string[];
  readonly folder: string;
  readonly data: string;
}

/** From the start of a command to the first 200 of the service that it starts; the service is stopped then. */
export async function timeStart(
  workplace: Workplace,
  { command, args, folder, data }: Start,
): Promise<number> {
  const port = await freePort();
  const env = { PORT: String(port), COUNTERFOIL_DATA: data };
  const began = performance.now();
  const program = workplace.start(command, args, { folder, env });
  // Nobody reads it, but a full pipe would stop the service.
  program.child.stdout?.resume();
  const polling = new AbortController();
  try {
    const ready = untilReady(`http://127.0.0.1:${port}/readyz`, polling.signal);
    return (await within(readyMsMax, Promise.race([ready, program.failed]))) - began;
  } finally {
    polling.abort();
    await workplace.stop(program);
  }
}

/** @returns when the first 200 came, as `performance.now()` tells it */
async function untilReady(url: string, signal: AbortSignal): Promise<number> {
  while (!signal.aborted && (await statusOf(url)) !== 200) await sleep(pollMs);
  return performance.now();
}

/** @returns undefined while nobody listens */
function statusOf(url: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    get(url, { agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode);
    }).once('error', () => resolve(undefined));
  });
}
