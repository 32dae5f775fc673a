import { writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Case } from '../case.ts';
import { spreadOf } from '../measure.ts';
import { firstLine, type Workplace, within } from '../workplace.ts';

const clone = fileURLToPath(new URL('../..', import.meta.url));
/** Single starts differ more than rounds of load do, and cost a second each. */
const runs = 7;
const pollMs = 5;
const readyMsMax = 30_000;

/** What a developer waits for after every change. */
export const start: Case = {
  name: 'start',
  summary: 'from `npm start` in a clone that has run before to the first 200 of /readyz',
  goal: { kind: 'duration', mostMs: 700 },

  async measure(workplace, { tell }) {
    // Uncounted: it fills the compile cache and makes the data folder, as the first start in a clone does.
    await timeStart(workplace);
    const ours: number[] = [];
    for (let run = 1; run <= runs; run++) {
      const ms = await timeStart(workplace);
      ours.push(ms);
      tell(`  start ${run}: ${Math.round(ms)} ms`);
    }
    const npm = spreadOf(await timeNpm(workplace));
    return {
      unit: 'ms',
      ours,
      remarks: [
        `${runs} starts on the same data folder after one uncounted, asked for /readyz every ${pollMs} ms.`,
        `Of this about ${Math.round(npm.median)} ms are npm's own ` +
          `[${Math.round(npm.min)}–${Math.round(npm.max)}]: what it takes, in runs of their own, until \`npm run\` ` +
          'has begun a script that does nothing else than say so.',
      ],
    };
  },
};

async function timeStart(workplace: Workplace): Promise<number> {
  const port = await freePort();
  const began = performance.now();
  const program = workplace.start('npm', ['start'], {
    folder: clone,
    env: { PORT: String(port), COUNTERFOIL_DATA: join(workplace.folder, 'data') },
  });
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

/** The port must be known before the service is, so that it can be polled from the first moment. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** How long npm takes, in a package that is nothing but one script, until that script runs. */
async function timeNpm(workplace: Workplace): Promise<number[]> {
  const scripts = { begin: 'echo begun' };
  writeFileSync(join(workplace.folder, 'package.json'), JSON.stringify({ private: true, scripts }));
  const times: number[] = [];
  // The first is uncounted, as with the service.
  for (let run = 0; run <= runs; run++) {
    const began = performance.now();
    const program = workplace.start('npm', ['run', 'begin']);
    await firstLine(program, (line) => line === 'begun');
    if (run > 0) times.push(performance.now() - began);
    await workplace.stop(program);
  }
  return times;
}
