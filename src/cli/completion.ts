import type { Command } from 'commander';
import { describe } from './command.ts';
export function defineCompletion(command: Command): void {
  describe(command, { description: 'x', examples: ['completion bash'], json: 'none' });
}
