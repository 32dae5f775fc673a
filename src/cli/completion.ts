import type { Command } from 'commander';
import { describe } from './command.ts';
import { bashCompletion, fishCompletion, zshCompletion } from './completion/scripts.ts';
import { completionWords } from './completion/words.ts';

const scripts = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion };

/** @param wholeProgram the tree with every command loaded */
export function defineCompletion(command: Command, wholeProgram: () => Promise<Command>): void {
  describe(command, {
    description:
      'Print a completion script for a shell. It completes the commands, options and values of counterfoil, and starts no program.',
    examples: [
      'completion bash > ~/.counterfoil.bash',
      'completion fish > ~/.config/fish/completions/counterfoil.fish',
    ],
    json: 'none',
  })
    .addArgument(command.createArgument('<shell>', 'the shell').choices(Object.keys(scripts)))
    .action(async (shell: keyof typeof scripts) => {
      process.stdout.write(scripts[shell](completionWords(await wholeProgram())));
    });
}
