import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomFrom } from '../random.ts';
import { StoreDrill } from './store-drill.ts';

/**
 * A program that runs a number of sequences, from a seed on. Each opens its store several times, and the library leaks
 * some memory each time, so that thousands of sequences need processes of their own.
 */
const [firstSeed = 0, sequences = 0] = process.argv.slice(2).map(Number);
const memory = '/dev/shm';
// In memory, if possible: the flush, which would take most of the time, is not tested here.
const folder = mkdtempSync(join(existsSync(memory) ? memory : tmpdir(), 'counterfoil-test-'));
try {
  for (let n = 0; n < sequences; n++) await drill(join(folder, `${n}.mdb`), (firstSeed + n) >>> 0);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function drill(file: string, seed: number): Promise<void> {
  const sequence = new StoreDrill(file, randomFrom(seed));
  try {
    await sequence.run();
    await sequence.close();
    rmSync(file);
  } catch (error) {
    throw new Error(`SEED=${seed} fails after: ${sequence.steps.slice(-40).join(', ')}`, { cause: error });
  }
}
