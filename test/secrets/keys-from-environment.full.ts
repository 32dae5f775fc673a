import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { runCommand } from '../support/command.ts';
import { assertReadable, command, register, retireLater } from '../support/secrets/rotation.ts';
import { newDataFolder, startTestService } from '../support/service.ts';

const isImpatient = `--import=${join(import.meta.dirname, '../support/impatient-start.ts')}`;
const newKey = () => randomBytes(32).toString('base64');

async function serveWith(t: TestContext, data: string, keys: readonly string[]) {
  return startTestService(t, { data, env: { COUNTERFOIL_MASTER_KEY: keys.join(',') } });
}

test('rotates keys in the environment: prints what to set, in which order, and leaves no secret behind', async (t) => {
  const data = newDataFolder(t);
  const [old, fresh] = [newKey(), newKey()];
  const first = await serveWith(t, data, [old]);
  const names = await register(first, 3);
  await first.stop();
  const alone = await command(data, { COUNTERFOIL_MASTER_KEY: old })('secrets', 'rotate');
  assert.equal(alone.status, 2);
  assert.match(alone.errors, /\(1\) add a second key after the current one/);
  await assert.rejects(serveWith(t, data, [fresh]), /sealed by master key/);

  const readable = await serveWith(t, data, [old, fresh]);
  const both = { COUNTERFOIL_MASTER_KEY: `${fresh},${old}` };
  const rotated = await command(data, both)('secrets', 'rotate');
  assert.equal(rotated.status, 0, rotated.errors);
  assert.match(rotated.output, /^3 records were put under/);
  await assertReadable(readable, names);
  await readable.stop();
  const retired = await retireLater(data, both);
  assert.equal(retired.status, 0, retired.errors);
  const last = await serveWith(t, data, [fresh]);
  await assertReadable(last, names);
  assert.ok(!existsSync(`${data}.key`));
  await last.stop();
});

test('reads the keys from the output of a command, without a shell, and reports missing output', async (t) => {
  const data = newDataFolder(t);
  const service = await startTestService(t);
  const file = `${service.data}.keystore`;
  const [old, fresh] = [newKey(), newKey()];
  writeFileSync(file, `${old}\n${fresh}\n`);
  const by = (line: string) => startTestService(t, { data, env: { COUNTERFOIL_MASTER_KEY_COMMAND: line } });
  const served = await by(`cat ${file}`);
  await register(served, 1);
  await served.stop();
  await assert.rejects(by('/nonexistent/program'), /printed no master key \(it ended with ENOENT\)/);
  // A manager of secrets may be away for a while, so these starts are tried again.
  const ends = async (line: string, problem: RegExp) => {
    const env = { COUNTERFOIL_DATA: data, COUNTERFOIL_MASTER_KEY_COMMAND: line, NODE_OPTIONS: isImpatient };
    const { status, errors } = await runCommand(['serve', '--simulate'], { ...env, PORT: '0' });
    assert.equal(status, 1, errors);
    assert.match(errors, problem);
  };
  await Promise.all([
    ends('false', /^counterfoil: .*false printed no master key \(it ended with 1\)$/m),
    ends(`cat ${file} ; true`, /^counterfoil: .*cat printed no master key/m),
  ]);
  await assert.rejects(by('echo secret'), (error: Error) => !error.message.includes('secret '));
  writeFileSync(file, `${fresh}\n`);
  await assert.rejects(by(`cat ${file}`), /secrets in this store were sealed by master key/);
  const env = { COUNTERFOIL_MASTER_KEY_COMMAND: 'true', COUNTERFOIL_MASTER_KEY: old };
  await assert.rejects(startTestService(t, { data, env }), /already sets the keys/);
});
