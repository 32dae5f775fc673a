import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openSpace } from '../../src/payments/ownership/marker.ts';
import type { LedgerRecords } from '../../src/processors/simulated/ledger.ts';
import { openLmdbEngine } from '../../src/storage/lmdb/open.ts';
import type { Case } from '../case.ts';
import type { Environment } from '../environment.ts';
import { countText } from '../measure.ts';
import { startPayingService, startProcessor } from '../servers.ts';
import { sourceFile } from '../source-file.ts';

const pollMs = 10;

/** The charges that a killed process left open are resolved soon after the next start, and none is made twice. */
export const recovery: Case = {
  name: 'recovery',
  summary: 'starts on charges that a killed process left open, until all are resolved',

  async measure(environment, conditions) {
    const count = conditions.sizes.small;
    const seconds: number[] = [];
    for (let round = 1; round <= conditions.rounds; round++) {
      seconds.push(await recover(environment, conditions, `round-${round}`, count));
      conditions.log(`  round-${round}: ${seconds.at(-1)?.toFixed(0)} ms`);
    }
    return {
      rows: [
        {
          name: `recovery of ${countText(count)} open charges`,
          unit: 'ms',
          ours: seconds,
          goal: { of: 'figure', side: 'most', bound: 10_000 },
        },
      ],
      remarks: [
        'From the start of the process; half of the charges had been made before, and none was made twice. ' +
          'The charges of an owner are not touched until its heartbeat has been missing for 5 s.',
      ],
    };
  },
};

async function recover(
  environment: Environment,
  conditions: Parameters<Case['measure']>[1],
  name: string,
  count: number,
): Promise<number> {
  const { origin: processor } = await startProcessor(environment);
  const data = join(environment.folder, name, 'data');
  await environment.run(process.execPath, [sourceFile('open-charges.ts'), data, `${count}`, processor]);
  const began = performance.now();
  const { program } = await startPayingService(environment, conditions, processor, data);
  const engine = openLmdbEngine(data);
  while ((await engine.describe(openSpace))?.count !== 0) await sleep(pollMs);
  const took = performance.now() - began;
  await engine.close();
  const records = (await (await fetch(`${processor}/records`)).json()) as LedgerRecords;
  const paid = new Set(records.charges.map(({ paymentId }) => paymentId)).size;
  if (records.charges.length !== count || paid !== count) {
    throw new Error(`${records.charges.length} charges were made for ${paid} of ${count} payments`);
  }
  program.child.kill('SIGTERM');
  return took;
}
