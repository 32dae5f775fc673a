import type { Command } from 'commander';
import { describe, type JsonOption } from './command.ts';

/** `counterfoil doctor`. */
export function defineDoctor(command: Command): void {
  describe(command, {
    description:
      'Check settings, store, master keys, secrets, clock, disk, address and processors, and print what to do. Exits with 1 ' +
      'if there is a problem. Works while the service is running.',
    examples: ['doctor', 'doctor --json'],
  }).action(async (options: JsonOption) => (await import('./doctor-checks.ts')).doctor(options));
}
