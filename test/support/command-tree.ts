import type { Command } from 'commander';

/** Every command below a command. */
export function commandsOf(command: Command): readonly Command[] {
  return command.commands.flatMap((child) => [child, ...commandsOf(child)]);
}

/** The words that lead to a command: `payments list`. */
export function pathOf(command: Command): string {
  const { parent } = command;
  return parent === null || parent.parent === null ? command.name() : `${pathOf(parent)} ${command.name()}`;
}
