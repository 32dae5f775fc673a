import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { minify } from 'terser';
import { runCommand } from '../../test/support/command.ts';
import { startTestService } from '../../test/support/service.ts';
import { installBuilt, tsc } from './support/built-client.ts';

const gzippedBytesMax = 6_000;
const run = promisify(execFile);

test('the built package imports nothing else, and is small', async (t) => {
  const { dist } = await installBuilt(t);
  const files = readdirSync(dist).filter((name) => name.endsWith('.js'));
  const textOf = (name: string) => readFileSync(join(dist, name), 'utf8');
  const importedBy = (name: string) =>
    Array.from(textOf(name).matchAll(/from '([^']+)'/g), ([, from = '']) => from.replace('./', ''));
  assert.deepEqual(
    files.flatMap(importedBy).filter((from) => !files.includes(from)),
    [],
  );
  const loaded = new Set(['index.js']);
  for (const name of loaded) for (const from of importedBy(name)) loaded.add(from);
  assert.ok(!loaded.has('keys.js'), 'what only operators need is not loaded with index.js');
  const texts = [...loaded].map(textOf);
  // The modules without imports. A bundler, which also shortens what they export, comes to less.
  const minified = await Promise.all(
    texts.map((text) =>
      minify(text.replace(/^(import|export \{)[^;]*;$/gm, ''), { module: true, ecma: 2020 }),
    ),
  );
  const code = minified.map((each) => each.code).join('');
  const { length } = gzipSync(code, { level: 9 });
  t.diagnostic(`${length} bytes gzipped`);
  assert.ok(length <= gzippedBytesMax, `${length} bytes`);
  const { dependencies, peerDependencies } = JSON.parse(readFileSync('client/package.json', 'utf8'));
  assert.deepEqual([dependencies, peerDependencies], [undefined, undefined]);
});

test('each entry of the built package declares its types in one file, and only what a caller can use', async (t) => {
  const { dist } = await installBuilt(t);
  const declarations = readdirSync(dist).filter((name) => name.endsWith('.d.ts'));
  assert.deepEqual(declarations, ['index.d.ts', 'operator.d.ts']);
  const textOf = (name: string) => readFileSync(join(dist, name), 'utf8');
  assert.doesNotMatch(textOf('index.d.ts'), /^import|from '|import\(|\bHttp\b/m);
  assert.doesNotMatch(
    textOf('operator.d.ts').replace(/^import \{[^}]+\} from '\.\/index\.js';$/m, ''),
    /from '|import\(|\bHttp\b/,
  );
  // Every type that the entry's source exports, by the same name.
  const names = (of: string) =>
    Array.from(of.matchAll(/^export (?:type )?\{([^}]+)\}/gm), ([, list = '']) => list)
      .join(',')
      .split(',')
      .map((name) => name.trim().replace(/^type /, ''))
      .filter((name) => name !== '')
      .sort();
  for (const entry of ['index', 'operator'])
    assert.deepEqual(names(textOf(`${entry}.d.ts`)), names(readFileSync(`client/src/${entry}.ts`, 'utf8')));
});

test('the clone links the package as a workspace, in the one lock file', () => {
  assert.equal(realpathSync('node_modules/@counterfoil/client'), resolve('client'));
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
  assert.deepEqual(packages['node_modules/@counterfoil/client'], { resolved: 'client', link: true });
  assert.ok(!existsSync('client/package-lock.json'));
});

test('the examples of docs/client.md compile against the built package, and run', async (t) => {
  const { folder } = await installBuilt(t);
  const { origin, data } = await startTestService(t);
  const text = readFileSync('docs/client.md', 'utf8').replaceAll('http://127.0.0.1:8080', origin);
  const blocks = (info: string) =>
    Array.from(text.matchAll(new RegExp(`\`\`\`${info}\\n(.*?)\`\`\``, 'gs')), ([, block = '']) => block);
  assert.ok(blocks('ts').length >= 5);
  for (const name of ['ts browser', 'ts keys']) assert.equal(blocks(name).length, 1, name);
  writeFileSync(join(folder, 'example.ts'), blocks('ts').join(''));
  writeFileSync(join(folder, 'browser.ts'), blocks('ts browser').join(''));
  writeFileSync(join(folder, 'keys.ts'), blocks('ts keys').join(''));
  const options =
    '--strict --exactOptionalPropertyTypes --module nodenext --target es2022 --lib es2022,dom,dom.iterable';
  const emitted = await run(
    tsc,
    [...options.split(' '), '--types', '', 'example.ts', 'browser.ts', 'keys.ts'],
    {
      cwd: folder,
    },
  ).catch((error) => assert.fail(error.stdout));
  assert.equal(emitted.stdout, '');
  const { stdout } = await run(process.execPath, ['example.js'], { cwd: folder });
  assert.match(
    stdout,
    /^ulysses James Joyce\n1\n\[ \{ name: 'books', count: 0, bytes: 0 \} \]\ncharged pay_\w+ ch_\w+\nsucceeded\n250\n1 undefined\nundefined\n/,
  );
  assert.match(stdout, /there is one\n409 id false req_\w+\n$/);
  // Last: from its first key on, the service needs one.
  const first = await runCommand(['keys', 'create', '--name', 'office', '--scope', 'admin'], {
    COUNTERFOIL_DATA: data,
  });
  const program = join(folder, 'keys.js');
  writeFileSync(program, readFileSync(program, 'utf8').replace('cfk_…', first.output.trim()));
  const ofKeys = await run(process.execPath, ['keys.js'], { cwd: folder });
  assert.match(ofKeys.stdout, /^cfk_\S+\ncfk_\S+ \S+Z\n\w+ office valid \S+\n\w+ nightly revoked null\n$/);
});
