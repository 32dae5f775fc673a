import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export interface RunningService {
  readonly origin: string;
  close(): void;
}

const program = join(import.meta.dirname, '../../src/cli/counterfoil.ts');

/** Starts the service in its own process, on a free port. Its data folder is removed when it exits. */
export async function startCounterfoil(publicUrl: string): Promise<RunningService> {
  const folder = mkdtempSync(join(tmpdir(), 'counterfoil-example-'));
  const child = spawn(process.execPath, [program, 'serve'], {
    cwd: folder,
    env: {
      PORT: '0',
      COUNTERFOIL_DATA: join(folder, 'data'),
      COUNTERFOIL_PUBLIC_URL: publicUrl,
      COUNTERFOIL_LOG_LEVEL: 'warn',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  child.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  for await (const line of createInterface({ input: child.stdout })) {
    const origin = /ready on (http:\/\/[^\s,]+)/.exec(line)?.[1];
    if (origin !== undefined) return { origin, close: () => child.kill() };
  }
  throw new Error('the service did not start');
}
