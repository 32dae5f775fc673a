import type { Command } from 'commander';
import { describe } from './command.ts';
export function defineInit(command: Command): void {
  describe(command, { description: 'x', examples: ['init'] });
}
