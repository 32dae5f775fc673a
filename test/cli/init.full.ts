import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { loadSettings } from '../../src/settings/load.ts';
import { runCommand } from '../support/command.ts';
import { ServeProcess } from '../support/serve-process.ts';
import { newDataFolder } from '../support/service.ts';
import { validatorOfFile } from '../support/settings-schema.ts';

function newFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'counterfoil-init-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

const init = (cwd: string, ...args: string[]) => runCommand(['init', ...args], {}, cwd);
const written = (folder: string) => JSON.parse(readFileSync(join(folder, 'counterfoil.json'), 'utf8'));

test('init: the file is valid by the published schema, changes no setting, and the service starts with it', async (t) => {
  const folder = newFolder(t);
  assert.deepEqual(await init(folder), { status: 0, output: 'counterfoil.json is written\n', errors: '' });
  const file = written(folder);
  const isValid = validatorOfFile();
  assert.ok(isValid(file), JSON.stringify(isValid.errors));
  const source = { env: {}, simulate: false };
  assert.deepEqual(
    loadSettings({ ...source, file: join(folder, 'counterfoil.json') }),
    loadSettings({ ...source, file: '' }),
  );
  const service = await ServeProcess.start(t, { data: newDataFolder(t), settings: file });
  assert.equal((await fetch(`${await service.ready()}/livez`)).status, 200);
});

test('init: names the schema of the package', async (t) => {
  const folder = newFolder(t);
  await init(folder);
  // The test runs the clone from outside of it.
  const schema = new URL(written(folder).$schema);
  assert.ok(statSync(fileURLToPath(schema)).isFile());
  const project = newFolder(t);
  mkdirSync(join(project, 'node_modules'));
  symlinkSync(process.cwd(), join(project, 'node_modules/counterfoil'));
  await init(project);
  assert.equal(written(project).$schema, './node_modules/counterfoil/counterfoil.schema.json');
});

test('init: replaces a file only with --force', async (t) => {
  const folder = newFolder(t);
  const file = join(folder, 'counterfoil.json');
  writeFileSync(file, '{"port":1}');
  const rejected = await init(folder);
  assert.deepEqual([rejected.status, rejected.output], [1, '']);
  assert.equal(rejected.errors, 'counterfoil: counterfoil.json exists; --force replaces it\n');
  assert.equal(readFileSync(file, 'utf8'), '{"port":1}');
  assert.equal((await init(folder, '--force', '--json')).status, 0);
  assert.equal(written(folder).port, 8080);
});
