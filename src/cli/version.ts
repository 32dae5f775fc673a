import type { Command } from 'commander';
import { version } from '../version.ts';
import { describe, type JsonOption } from './command.ts';
import { printResult } from './output/print.ts';

/** `counterfoil version`. */
export function defineVersion(command: Command): void {
  describe(command, { description: 'Print the version.', examples: ['version', 'version --json'] }).action(
    ({ json }: JsonOption) => printResult(json, { version }, version),
  );
}
