import { setTimeout as sleep } from 'node:timers/promises';
import type { Environment } from './environment.ts';
import { serviceFile } from './servers.ts';

/** Backups and restores by the command, in milliseconds. */

const pollMs = 200;

interface Backup {
  readonly data: string;
  readonly target: string;
}

/** @returns how long it took */
export function backUp(environment: Environment, { data, target }: Backup): Promise<number> {
  return time(environment, data, ['backup', target]);
}

/** Waits for the first backup that a service makes by itself. */
export async function untilBackedUp(environment: Environment, { data, target }: Backup): Promise<void> {
  const list = () =>
    environment.run(process.execPath, [serviceFile, 'backup', target, '--list', '--json'], {
      env: { COUNTERFOIL_DATA: data },
    });
  while ((await list()).trim() === '') await sleep(pollMs);
}

/** @returns how long it took */
export function restore(environment: Environment, { data, target }: Backup): Promise<number> {
  return time(environment, data, ['restore', target]);
}

async function time(environment: Environment, data: string, args: readonly string[]): Promise<number> {
  const began = performance.now();
  await environment.run(process.execPath, [serviceFile, ...args], { env: { COUNTERFOIL_DATA: data } });
  return performance.now() - began;
}
