import type { Command, Option } from 'commander';

/** What a shell can complete behind one command. Words are plain ASCII, which needs no quoting in any shell. */
export interface CommandWords {
  /** The words that lead to it, each behind a space: ` payments list`; empty for the program itself. */
  readonly path: string;
  readonly subcommands: readonly Word[];
  readonly options: readonly OptionWords[];
  /** The values of its first argument, if they can be listed. */
  readonly values: readonly Word[];
}

export interface Word {
  readonly word: string;
  readonly description: string;
}

export interface OptionWords extends Word {
  readonly takesValue: boolean;
  /** Empty if they cannot be listed. */
  readonly values: readonly string[];
}

const plainWord = /^[A-Za-z0-9][A-Za-z0-9_:-]*$/;

/** The words of a command and of everything below it, without hidden commands. */
export function completionWords(command: Command, path = ''): readonly CommandWords[] {
  const help = command.createHelp();
  const children = help.visibleCommands(command);
  const subcommands = children.map((child) => ({
    word: checked(child.name()),
    description: child.summary(),
  }));
  const own: CommandWords = {
    path,
    subcommands,
    options: help.visibleOptions(command).map(optionWords),
    values: (command.registeredArguments[0]?.argChoices ?? []).map((value) => ({
      word: checked(value),
      description: '',
    })),
  };
  const below = children.flatMap((child) =>
    // The help command takes the name of a command.
    child.name() === 'help'
      ? [{ path: `${path} help`, subcommands: [], options: [], values: subcommands }]
      : completionWords(child, `${path} ${child.name()}`),
  );
  return [own, ...below];
}

function optionWords(option: Option): OptionWords {
  const name = option.long?.replace(/^--/, '') ?? '';
  return {
    word: `--${checked(name)}`,
    description: option.description,
    takesValue: option.required || option.optional,
    values: (option.argChoices ?? []).map(checked),
  };
}

function checked(word: string): string {
  if (!plainWord.test(word)) throw new RangeError(`a shell would need quotes for ${word}`);
  return word;
}

/** The paths of all options that take a value, as `<path> <option>`, by the values that can be listed. */
export function optionsWithValues(commands: readonly CommandWords[]): {
  readonly listed: readonly { readonly place: string; readonly values: readonly string[] }[];
  readonly free: readonly string[];
} {
  const places = commands.flatMap(({ path, options }) =>
    options
      .filter(({ takesValue }) => takesValue)
      .map(({ word, values }) => ({ place: `${path} ${word}`, values })),
  );
  return {
    listed: places.filter(({ values }) => values.length > 0),
    free: places.filter(({ values }) => values.length === 0).map(({ place }) => place),
  };
}
