import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Case } from '../case.ts';
import { type Environment, firstLine } from '../environment.ts';
import { spreadOf } from '../measure.ts';
import { sourceFile } from '../source-file.ts';
import { pollMs, timeStart } from '../start-time.ts';

/** Single starts differ more than rounds of load do, and cost a second each. */
const startsBesideRounds = 2;

/** The time that a developer waits after every change. */
export const start: Case = {
  name: 'start',
  summary: 'times `npm start` in a clone that has run before, from its start to the first 200 of /readyz',

  async measure(environment, { rounds, log }) {
    const runs = rounds + startsBesideRounds;
    const npmStart = {
      command: 'npm',
      args: ['start'],
      folder: sourceFile('..'),
      data: join(environment.folder, 'data'),
    };
    // Not counted: it fills the compile cache and creates the data folder, as the first start in a clone does.
    await timeStart(environment, npmStart);
    const ours: number[] = [];
    for (let run = 1; run <= runs; run++) {
      const ms = await timeStart(environment, npmStart);
      ours.push(ms);
      log(`  start ${run}: ${Math.round(ms)} ms`);
    }
    const npm = spreadOf(await timeNpm(environment, runs));
    return {
      rows: [{ name: 'start', unit: 'ms', ours, goal: { of: 'figure', side: 'most', bound: 700 } }],
      remarks: [
        `${runs} starts on the same data folder after one that is not counted, polling /readyz every ${pollMs} ms.`,
        `Of this about ${Math.round(npm.median)} ms are npm's own ` +
          `[${Math.round(npm.min)}–${Math.round(npm.max)}]: the time until \`npm run\` begins a script, measured in ` +
          'separate runs of a script that prints one line.',
      ],
    };
  },
};

/** The time that npm takes to run the only script of a small package. */
async function timeNpm(environment: Environment, runs: number): Promise<number[]> {
  const scripts = { begin: 'echo begun' };
  writeFileSync(join(environment.folder, 'package.json'), JSON.stringify({ private: true, scripts }));
  const times: number[] = [];
  // The first run is not counted, as with the service.
  for (let run = 0; run <= runs; run++) {
    const began = performance.now();
    const program = environment.start('npm', ['run', 'begin']);
    await firstLine(program, (line) => line === 'begun');
    if (run > 0) times.push(performance.now() - began);
    await environment.stop(program);
  }
  return times;
}
