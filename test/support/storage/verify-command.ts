import assert from 'node:assert/strict';
import { runCommand } from '../command.ts';

/** `counterfoil verify` of a data folder: fails with what it has found, unless the store is whole. */
export async function assertWhole(data: string): Promise<void> {
  const { status, output, errors } = await runCommand(['verify'], { COUNTERFOIL_DATA: data });
  assert.equal(status, 0, `${output}${errors}`);
}
