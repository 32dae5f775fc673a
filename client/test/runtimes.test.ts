import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { run } from '../../test/support/installed-package.ts';
import { startTestService } from '../../test/support/service.ts';
import { installBuilt, tsc } from './support/built-client.ts';
import { install, type Runtime, runtimes } from './support/runtimes.ts';

const scenario = join(import.meta.dirname, 'support/scenario.ts');
const options = '--strict --module nodenext --target es2022 --lib es2022,dom,dom.iterable --types';

/** The scenario as JavaScript, in a project that has installed the built client. */
async function compiledScenario(t: TestContext): Promise<string> {
  const { folder } = await installBuilt(t);
  const source = readFileSync(scenario, 'utf8').replace('../../src/index.ts', '@counterfoil/client');
  writeFileSync(join(folder, 'scenario.ts'), source);
  const { status, output } = await run(tsc, [...options.split(' '), '', 'scenario.ts'], { cwd: folder });
  assert.equal(status, 0, output);
  return join(folder, 'scenario.js');
}

// Most of a scenario is waits between attempts, so some run at once.
test('the built client works in each runtime', { concurrency: 3 }, async (t) => {
  const compiled = await compiledScenario(t);
  await Promise.all(
    runtimes.map((runtime) => t.test(runtime.name, (each) => completes(each, runtime, compiled))),
  );
});

async function completes(t: TestContext, runtime: Runtime, compiled: string): Promise<void> {
  const installed = await install(runtime);
  if ('missing' in installed) {
    t.skip(installed.missing);
    return;
  }
  const { origin } = await startTestService(t);
  const { status, output, errors } = await run(installed.program, [...runtime.args, compiled, origin]);
  assert.equal(status, 0, errors);
  assert.match(output, /^complete, without a connection: (connection_failed|unknown)\n$/);
  t.diagnostic(output.trim());
}
