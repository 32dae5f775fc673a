import type { Command } from 'commander';
import { describe } from './command.ts';
export function defineConfig(command: Command): void {
  describe(command, { description: 'x', examples: ['config'] });
}
