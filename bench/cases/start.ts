import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Case } from '../case.ts';
import { spreadOf } from '../measure.ts';
import { sourceFile } from '../source-file.ts';
import { pollMs, timeStart } from '../start-time.ts';
import { firstLine, type Workplace } from '../workplace.ts';

/** Single starts differ more than rounds of load do, and cost a second each. */
const startsBesideRounds = 2;

/** What a developer waits for after every change. */
export const start: Case = {
  name: 'start',
  summary: 'from `npm start` in a clone that has run before to the first 200 of /readyz',

  async measure(workplace, { rounds, tell }) {
    const runs = rounds + startsBesideRounds;
    const npmStart = {
      command: 'npm',
      args: ['start'],
      folder: sourceFile('..'),
      data: join(workplace.folder, 'data'),
    };
    // Uncounted: it fills the compile cache and makes the data folder, as the first start in a clone does.
    await timeStart(workplace, npmStart);
    const ours: number[] = [];
    for (let run = 1; run <= runs; run++) {
      const ms = await timeStart(workplace, npmStart);
      ours.push(ms);
      tell(`  start ${run}: ${Math.round(ms)} ms`);
    }
    const npm = spreadOf(await timeNpm(workplace, runs));
    return {
      rows: [{ name: 'start', unit: 'ms', ours, goal: { of: 'figure', side: 'most', bound: 700 } }],
      remarks: [
        `${runs} starts on the same data folder after one uncounted, asked for /readyz every ${pollMs} ms.`,
        `Of this about ${Math.round(npm.median)} ms are npm's own ` +
          `[${Math.round(npm.min)}–${Math.round(npm.max)}]: what it takes, in runs of their own, until \`npm run\` ` +
          'has begun a script that does nothing else than say so.',
      ],
    };
  },
};

/** How long npm takes, in a package that is nothing but one script, until that script runs. */
async function timeNpm(workplace: Workplace, runs: number): Promise<number[]> {
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
