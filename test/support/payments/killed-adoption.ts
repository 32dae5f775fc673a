import type { Engine } from '../../../src/storage/engine.ts';
import { adoptAll, ledgerOf } from './adoption-world.ts';
import { openContext } from './restored-store.ts';

/**
 * A process that adopts in a folder and is killed: `FOLDER STEP` kills it at that step, `FOLDER STEP MS` also after so many
 * milliseconds. Each commit and each cancellation at the processor has two steps, before and after it. It prints the number of
 * steps if it comes to its end.
 */
const [folder = '', step = '0', ms] = process.argv.slice(2);
let steps = 0;

function pass(): void {
  if (++steps === Number(step)) process.kill(process.pid, 'SIGKILL');
}

async function around<Result>(work: () => Promise<Result>): Promise<Result> {
  pass();
  const result = await work();
  pass();
  return result;
}

const processors = ledgerOf(folder);
for (const processor of processors.values()) {
  const { cancelCharge } = processor ?? {};
  if (processor !== undefined && cancelCharge !== undefined)
    Object.assign(processor, {
      cancelCharge: (...given: Parameters<typeof cancelCharge>) => around(() => cancelCharge(...given)),
    });
}
const { engine, context } = openContext(folder, processors);
const commit = engine.commit.bind(engine);
engine.commit = ((writes) => around(() => commit(writes))) as Engine['commit'];
if (ms !== undefined) setTimeout(() => process.kill(process.pid, 'SIGKILL'), Number(ms));
const { rejection } = await adoptAll(context);
if (rejection !== undefined) throw new Error(rejection.message);
process.stdout.write(`${steps}\n`);
await engine.close();
process.exit();
