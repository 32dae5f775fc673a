import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { startTestService } from '../../test/support/service.ts';

const script = join(import.meta.dirname, 'support/any-runtime.ts');
/** `BUN` and `DENO` name the programs; without them these tests are skipped. */
const runtimes = {
  Bun: [process.env.BUN ?? 'node_modules/.bin/bun', 'run'],
  Deno: [process.env.DENO ?? 'node_modules/.bin/deno', 'run', '--allow-net', '--no-check'],
};

for (const [name, [program = '', ...args]] of Object.entries(runtimes)) {
  const skip = !existsSync(program) && `there is no ${program}`;
  test(`works in ${name}`, { skip }, async (t) => {
    const { origin } = await startTestService(t);
    const { stdout } = await promisify(execFile)(program, [...args, script, origin]);
    assert.match(stdout, /^complete, without a connection: (connection_failed|unknown)\n$/);
    t.diagnostic(stdout.trim());
  });
}
