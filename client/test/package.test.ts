import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { tokenizer } from 'acorn';
import { startTestService } from '../../test/support/service.ts';

const gzippedBytesMax = 6_000;
const run = promisify(execFile);
const tsc = resolve('node_modules/.bin/tsc');

/** A project that has installed the built client. */
async function installed(t: TestContext): Promise<{ readonly folder: string; readonly dist: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'counterfoil-client-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const home = join(folder, 'node_modules/@counterfoil/client');
  mkdirSync(home, { recursive: true });
  cpSync('client/package.json', join(home, 'package.json'));
  const dist = join(home, 'dist');
  await run(tsc, ['-p', 'client', '--outDir', dist]);
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  return { folder, dist };
}

test('the built package imports nothing else, and is small', async (t) => {
  const { dist } = await installed(t);
  const files = readdirSync(dist).filter((name) => name.endsWith('.js'));
  const texts = files.map((name) => readFileSync(join(dist, name), 'utf8'));
  const imported = texts.flatMap((text) => Array.from(text.matchAll(/from '([^']+)'/g), ([, from]) => from));
  assert.deepEqual(
    imported.filter((from) => !files.includes(from?.replace('./', '') ?? '')),
    [],
  );
  // One module without imports, comments and spaces. A real minifier also shortens names.
  const bundle = texts
    .map((text) => text.replace(/^import[^;]*;$/gm, ''))
    .map(withoutSpaces)
    .join('');
  const { length } = gzipSync(bundle, { level: 9 });
  t.diagnostic(`${length} bytes gzipped`);
  assert.ok(length <= gzippedBytesMax, `${length} bytes`);
  const { dependencies, peerDependencies } = JSON.parse(readFileSync('client/package.json', 'utf8'));
  assert.deepEqual([dependencies, peerDependencies], [undefined, undefined]);
});

test('the clone links the package as a workspace, in the one lock file', () => {
  assert.equal(realpathSync('node_modules/@counterfoil/client'), resolve('client'));
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
  assert.deepEqual(packages['node_modules/@counterfoil/client'], { resolved: 'client', link: true });
  assert.ok(!existsSync('client/package-lock.json'));
});

test('the examples of docs/client.md compile against the built package, and run', async (t) => {
  const { folder } = await installed(t);
  const { origin } = await startTestService(t);
  const text = readFileSync('docs/client.md', 'utf8').replaceAll('http://127.0.0.1:8080', origin);
  const blocks = (info: string) =>
    Array.from(text.matchAll(new RegExp(`\`\`\`${info}\\n(.*?)\`\`\``, 'gs')), ([, block = '']) => block);
  assert.ok(blocks('ts').length >= 5 && blocks('ts browser').length === 1);
  writeFileSync(join(folder, 'example.ts'), blocks('ts').join(''));
  writeFileSync(join(folder, 'browser.ts'), blocks('ts browser').join(''));
  const options =
    '--strict --exactOptionalPropertyTypes --module nodenext --target es2022 --lib es2022,dom,dom.iterable';
  const emitted = await run(tsc, [...options.split(' '), '--types', '', 'example.ts', 'browser.ts'], {
    cwd: folder,
  }).catch((error) => assert.fail(error.stdout));
  assert.equal(emitted.stdout, '');
  const { stdout } = await run(process.execPath, ['example.js'], { cwd: folder });
  assert.match(
    stdout,
    /^ulysses James Joyce\n1\ncharged pay_\w+ ch_\w+\nsucceeded\n250\n1 undefined\nundefined\n/,
  );
  assert.match(stdout, /there is one\n409 id false req_\w+\n$/);
});

/** The tokens of a module, with a space only where two words would become one. */
function withoutSpaces(text: string): string {
  let result = '';
  let end = 0;
  let line = 0;
  for (const token of tokenizer(text, { ecmaVersion: 'latest', sourceType: 'module', locations: true })) {
    const part = text.slice(token.start, token.end);
    const isTemplate = token.type.label === 'template';
    const touches = token.start === end || isTemplate;
    const needsSpace = !touches && /[\w$#]$/.test(result) && /^[\w$#]/.test(part);
    // A statement without a semicolon, such as a class, may end at the end of its line.
    const isNewLine =
      token.loc !== undefined && token.loc !== null && token.loc.start.line > line && result.endsWith('}');
    result += isNewLine && !touches ? `\n${part}` : needsSpace ? ` ${part}` : part;
    end = token.end;
    line = token.loc?.end.line ?? line;
  }
  return result;
}
