import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { promisify } from 'node:util';
import { documentFile } from '../support/openapi/document.ts';

/**
 * The generators need TypeScript 5 beside them, so that they are installed into a folder of their own. `@ts-expect-error` in
 * the probes fails where a wrong use compiles.
 */
const packages = [
  'typescript@5.9.3',
  'openapi-typescript@7.13.0',
  'openapi-fetch@0.17.0',
  '@hey-api/openapi-ts@0.95.0',
];
const installMsMax = 300_000;
const folder = mkdtempSync(join(tmpdir(), 'counterfoil-clients-'));
const run = (command: string, args: readonly string[]) =>
  promisify(execFile)(command, args, { cwd: folder, timeout: installMsMax }).catch((error) => {
    throw new Error(`${command} ${args.join(' ')}\n${error.stdout}\n${error.stderr}`);
  });
const bin = (name: string) => join(folder, 'node_modules/.bin', name);

before(
  async () => {
    process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
    writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}');
    cpSync(documentFile, join(folder, documentFile));
    cpSync('test/openapi/probes', folder, { recursive: true });
    await run('npm', [
      'install',
      '--no-audit',
      '--no-fund',
      '--prefer-offline',
      '--ignore-scripts',
      ...packages,
    ]);
  },
  { timeout: installMsMax },
);

test('right uses of a client by openapi-typescript compile, and wrong ones do not', async () => {
  await run(bin('openapi-typescript'), [documentFile, '--output', 'schema.d.ts']);
  await compile('openapi-fetch.ts');
});

test('right uses of a client by @hey-api/openapi-ts compile, and wrong ones do not', async () => {
  await run(bin('openapi-ts'), ['--input', documentFile, '--output', 'hey-api', '--no-log-file']);
  await compile('hey-api.ts');
});

function compile(file: string): Promise<unknown> {
  const compilerOptions = {
    noEmit: true,
    strict: true,
    noUncheckedIndexedAccess: true,
    allowImportingTsExtensions: true,
    target: 'es2023',
    lib: ['es2023', 'dom', 'dom.iterable'],
    module: 'esnext',
    moduleResolution: 'bundler',
    types: [],
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: [file] }));
  return run(bin('tsc'), []);
}
