import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const program = join(import.meta.dirname, '../../src/cli/counterfoil.ts');

/** `counterfoil verify` of a data folder: fails with what it has found, unless the store is whole. */
export async function assertWhole(data: string): Promise<void> {
  const env = { COUNTERFOIL_DATA: data };
  const told = await new Promise<string>((resolve) => {
    execFile(process.execPath, [program, 'verify'], { env, cwd: tmpdir() }, (error, output, errors) => {
      resolve(error === null ? '' : `exit ${error.code}: ${output}${errors}`);
    });
  });
  assert.equal(told, '');
}
