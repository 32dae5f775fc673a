import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { givenUpMs } from './busy-machine.ts';

/** The time limit of a build, or of an installation that finds nothing in the cache. */
const npmMsMax = 3 * givenUpMs;

export interface Ended {
  readonly status: number | null;
  readonly output: string;
  readonly errors: string;
}

/** The packages that `npm pack` makes of this clone, installed by `npm install` in an empty folder. */
export class InstalledPackage {
  readonly folder: string;
  readonly tarball: string;
  /** The time that `npm install` of both packages took, with its downloads. */
  readonly installMs: number;

  private constructor(folder: string, tarball: string, installMs: number) {
    this.folder = folder;
    this.tarball = tarball;
    this.installMs = installMs;
  }

  static async install(): Promise<InstalledPackage> {
    const home = mkdtempSync(join(tmpdir(), 'counterfoil-package-'));
    try {
      await npm(process.cwd(), [
        'pack',
        '--pack-destination',
        home,
        '--workspace',
        'client',
        '--include-workspace-root',
      ]);
      const tarballs = readdirSync(home).filter((entry) => entry.endsWith('.tgz'));
      const own = tarballs.find((name) => !name.startsWith('counterfoil-client-'));
      if (own === undefined || tarballs.length !== 2) throw new Error(`npm pack has written ${tarballs}`);
      const began = performance.now();
      const folder = await addTo(join(home, 'installed'), ...tarballs.map((name) => join(home, name)));
      return new InstalledPackage(folder, join(home, own), performance.now() - began);
    } catch (error) {
      rmSync(home, { recursive: true, force: true });
      throw error;
    }
  }

  /** Installs a package in another new folder, and resolves with that folder. */
  async add(name: string, spec: string): Promise<string> {
    return addTo(join(dirname(this.folder), name), spec);
  }

  /** Runs `npx counterfoil …` in the folder of the installation. */
  async run(node: string, args: readonly string[]): Promise<Ended> {
    return run('npx', ['counterfoil', ...args], { cwd: this.folder, env: environment(node) });
  }

  /** Runs `npx counterfoil serve …` on a free port and a new data folder; resolves with the origin when it is ready. */
  async serve(t: TestContext, node: string, args: readonly string[]): Promise<string> {
    const data = mkdtempSync(join(dirname(this.folder), 'data-'));
    const child = spawn('npx', ['counterfoil', 'serve', ...args], {
      cwd: this.folder,
      env: { ...environment(node), PORT: '0', COUNTERFOIL_DATA: join(data, 'data') },
      stdio: ['ignore', 'pipe', 'pipe'],
      // npx, its shell and the service are one process group, so that no process is left behind.
      detached: true,
    });
    t.after(() => endGroup(child));
    let errors = '';
    child.stderr.on('data', (bytes: Buffer) => {
      errors += bytes;
    });
    const waiting = AbortSignal.timeout(givenUpMs);
    waiting.addEventListener('abort', () => child.stdout.destroy());
    for await (const line of createInterface({ input: child.stdout })) {
      const origin = /ready on (http:\/\/\S+?),? /.exec(`${line} `)?.[1];
      if (origin !== undefined) return origin;
    }
    throw new Error(`npx counterfoil serve ${args.join(' ')} was not ready: ${errors}`);
  }

  remove(): void {
    rmSync(dirname(this.folder), { recursive: true, force: true });
  }
}

/** Makes a folder, and installs packages in it. */
async function addTo(folder: string, ...specs: readonly string[]): Promise<string> {
  mkdirSync(folder);
  // Without a package.json, npm would look for the project in the folders above.
  await npm(folder, ['init', '--yes']);
  await npm(folder, ['install', ...specs, '--no-audit', '--no-fund', '--prefer-offline']);
  return folder;
}

export function run(
  command: string,
  args: readonly string[],
  options: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv; readonly timeout?: number } = {},
): Promise<Ended> {
  return new Promise((resolve) => {
    const child = execFile(command, args, { timeout: givenUpMs, ...options }, (_, output, errors) =>
      resolve({ status: child.exitCode, output, errors }),
    );
  });
}

/** Runs npm as in a terminal. Throws with its output if it fails. */
export async function npm(cwd: string, args: readonly string[]): Promise<void> {
  const { status, output, errors } = await run('npm', args, {
    cwd,
    env: environment(process.execPath),
    timeout: npmMsMax,
  });
  if (status !== 0) throw new Error(`npm ${args.join(' ')} ended with ${status}: ${output}${errors}`);
}

/** The variables that `npm run` and the test runner add. Those that say where packages come from stay. */
const addedByNpm = /^(npm_(?!config_(registry|cache|userconfig)$)|INIT_CWD$|NODE_TEST_CONTEXT$)/;

/** The environment of a terminal, where this Node.js comes first. */
function environment(node: string): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !addedByNpm.test(name) && !name.startsWith('COUNTERFOIL_'),
  );
  return { ...Object.fromEntries(kept), PATH: `${dirname(node)}${delimiter}${process.env.PATH}` };
}

async function endGroup(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'close');
  signalGroup(child, 'SIGTERM');
  const late = sleep(givenUpMs, 'late', { ref: false });
  if ((await Promise.race([ended, late])) === 'late') signalGroup(child, 'SIGKILL');
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch {
    // The group has ended.
  }
}
