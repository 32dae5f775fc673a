import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';

export const tsc = resolve('node_modules/.bin/tsc');

export interface BuiltClient {
  /** A project that has the package in its `node_modules`. */
  readonly folder: string;
  /** The compiled files of the package. */
  readonly dist: string;
}

/** Builds the client into a new project, which is removed after the test. */
export async function installBuilt(t: TestContext): Promise<BuiltClient> {
  const folder = mkdtempSync(join(tmpdir(), 'counterfoil-client-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const home = join(folder, 'node_modules/@counterfoil/client');
  mkdirSync(home, { recursive: true });
  cpSync('client/package.json', join(home, 'package.json'));
  const dist = join(home, 'dist');
  const run = promisify(execFile);
  await run(tsc, ['-p', 'client', '--outDir', dist]);
  await run(process.execPath, ['scripts/flatten-declarations.ts', dist]);
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  return { folder, dist };
}
