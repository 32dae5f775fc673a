import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { constants, existsSync } from 'node:fs';
import { access, chmod, mkdir, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { ServiceError } from '../errors.ts';
import type { Log } from '../log.ts';
import { consoleBuildMsMax } from './limits.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const isClone = import.meta.url.endsWith('.ts');
const vite = join(root, 'node_modules/vite/bin/vite.js');
/** What the built files depend on. */
const sources = ['console', 'client/src', 'package-lock.json'];
const run = promisify(execFile);

/**
 * Finds the folder of the built console. The package contains it. A clone builds it when it is first asked for, and keeps it
 * until one of its sources changes, so that neither the start of the service nor a second request waits. Rejects with
 * `unavailable` if it is missing and cannot be built.
 */
export async function consoleFolder(log: Log): Promise<string> {
  if (!isClone) return await present(fileURLToPath(new URL('../../console', import.meta.url)));
  const builds = join(root, 'node_modules/.cache/counterfoil-console');
  const folder = join(builds, await hashSources());
  if (await isReadable(folder)) return folder;
  if (!existsSync(vite)) throw notBuilt;
  try {
    await build(builds, folder);
  } catch (error) {
    const { stderr = '' } = error as { readonly stderr?: string };
    log.error('console_not_built', { detail: stderr.slice(0, 2_000) || String(error) });
    throw notBuilt;
  }
  return await present(folder);
}

async function build(builds: string, folder: string): Promise<void> {
  await mkdir(builds, { recursive: true });
  const fresh = await mkdtemp(join(builds, 'new-'));
  try {
    const args = [vite, 'build', 'console', '--outDir', fresh, '--logLevel', 'error'];
    await run(process.execPath, args, { cwd: root, timeout: consoleBuildMsMax, env: buildEnvironment() });
    await letAllRead(fresh);
    // Another process may have been faster; its files are the same.
    await rename(fresh, folder).catch(async (error: unknown) => {
      if (!(await isReadable(folder))) throw error;
    });
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
}

async function hashSources(): Promise<string> {
  const digest = createHash('sha256');
  for (const source of sources) {
    for (const file of await listFiles(join(root, source)))
      digest.update(`${relative(root, file)}\0`).update(await readFile(file));
  }
  return digest.digest('hex').slice(0, 32);
}

async function listFiles(path: string): Promise<readonly string[]> {
  const entries = await readdir(path, { recursive: true, withFileTypes: true }).catch(() => undefined);
  if (entries === undefined) return existsSync(path) ? [path] : [];
  const files = entries.filter((entry) => entry.isFile());
  return files.map(({ parentPath, name }) => join(parentPath, name)).sort();
}

async function present(folder: string): Promise<string> {
  if (!(await isReadable(folder))) throw notBuilt;
  return folder;
}

async function isReadable(folder: string): Promise<boolean> {
  return await access(join(folder, 'index.html'), constants.R_OK).then(
    () => true,
    () => false,
  );
}

/** The service may run as another user the next time; it makes its files for one user alone. */
async function letAllRead(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true }))
    await chmod(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o755 : 0o644);
}

/** The build needs none of the secrets that the service has in its environment. */
function buildEnvironment(): NodeJS.ProcessEnv {
  const { PATH, HOME } = process.env;
  return { PATH, HOME };
}

const notBuilt = new ServiceError('unavailable', {
  retryable: false,
  message:
    'The console is not built. A clone builds it with its development dependencies (npm ci); the package contains it.',
});
