import type { Command } from 'commander';
import { describe } from './command.ts';

const shells = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof shells)[number];

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
    .addArgument(command.createArgument('<shell>', 'the shell').choices([...shells]))
    .action(async (shell: Shell) => {
      process.stdout.write(await scriptOf(shell, await wholeProgram()));
    });
}

async function scriptOf(shell: Shell, program: Command): Promise<string> {
  const { wordsOf } = await import('./completion/words.ts');
  const commands = wordsOf(program);
  switch (shell) {
    case 'bash':
      return (await import('./completion/bash.ts')).bashCompletion(commands);
    case 'zsh':
      return (await import('./completion/zsh.ts')).zshCompletion(commands);
    case 'fish':
      return (await import('./completion/fish.ts')).fishCompletion(commands);
  }
}
