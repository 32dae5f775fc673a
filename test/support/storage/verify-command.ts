import assert from 'node:assert/strict';
import { runCommand } from '../command.ts';

/** Runs `counterfoil verify` on a data folder, and fails with its output if the store is damaged. */
export async function assertWhole(data: string): Promise<void> {
  const { status, output, errors } = await runCommand(['verify'], { COUNTERFOIL_DATA: data });
  assert.equal(status, 0, `${output}${errors}`);
}
