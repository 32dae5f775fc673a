import { type Command, Option } from 'commander';
import type { OfflineAccess } from '../app/offline.ts';
import type { Settings } from '../settings/schema.ts';
import { version } from '../version.ts';
import { commandSettings } from './command-settings.ts';
import { UsageError } from './problems.ts';

interface CommandText {
  /** Sentences; the list of commands shows the first one. */
  readonly description: string;
  /** Complete command lines, without `npx counterfoil`. */
  readonly examples: readonly string[];
  /** What `--json` prints: one object by default, one a line, or the command has no such option. */
  readonly json?: 'lines' | 'none';
}

/** The options of every command that has `--json`. */
export interface JsonOption {
  readonly json?: boolean;
}

const texts = new WeakMap<Command, CommandText>();

/** Sets the texts of a command. `addCommonOptions` adds the options and examples. */
export function describe(command: Command, text: CommandText): Command {
  texts.set(command, text);
  const [first = ''] = text.description.split(/\.(?: |$)/);
  return command.description(text.description).summary(first.charAt(0).toLowerCase() + first.slice(1));
}

/** Adds a subcommand. */
export function subcommand(parent: Command, name: string, text: CommandText): Command {
  return describe(parent.command(name), text);
}

/**
 * Adds `--json`, unless the command has none, `--version` and the examples to a command and its subcommands. Call it last,
 * because the help shows options in the order in which they were added.
 */
export function addCommonOptions(command: Command): void {
  const { json, examples } = commandText(command);
  if (json !== 'none')
    command.option('--json', json === 'lines' ? 'print one JSON object a line' : 'print one JSON object');
  command.version(version, '-V, --version', 'print the version');
  const lines = examples.map((example) => `\n  npx counterfoil ${example}`);
  command.addHelpText('after', `\nExamples:${lines.join('')}`);
  for (const child of command.commands) addCommonOptions(child);
}

/** The texts that `describe` gave a command. */
export function commandText(command: Command): CommandText {
  const text = texts.get(command);
  if (text === undefined) throw new RangeError(`the command ${command.name()} has no texts`);
  return text;
}

/** An option that can be given several times. @param choices the values it accepts; any if there are none */
export function repeatable(flags: string, description: string, choices?: readonly string[]): Option {
  const option = new Option(flags, description);
  if (choices !== undefined) option.choices([...choices]);
  return option.argParser((value: string, before: readonly string[] = []) => {
    if (choices !== undefined && !choices.includes(value))
      throw new UsageError(`${option.long}: there is no ${value}; choose one of ${choices.join(', ')}`);
    return [...before, value];
  });
}

/** An option with one of several values. */
export function oneOf(flags: string, description: string, choices: readonly string[]): Option {
  return new Option(flags, description).choices([...choices]);
}

/** The pages of a listing, up to the last one. @param from where the first page begins */
export async function* pages<Page extends { readonly next?: string | undefined }>(
  read: (after: string | undefined) => Promise<Page>,
  from?: string,
): AsyncGenerator<Page> {
  let after = from;
  do {
    const page = await read(after);
    yield page;
    after = page.next;
  } while (after !== undefined);
}

/** Opens what a command needs with its settings, and closes it after the work. */
export async function withOpened<Opened extends { close(): Promise<void> }, Result>(
  open: (settings: Settings) => Promise<Opened>,
  work: (opened: Opened) => Promise<Result>,
): Promise<Result> {
  const opened = await open(await commandSettings());
  try {
    return await work(opened);
  } finally {
    await opened.close();
  }
}

/** Opens the keys, administrators and audit trail for a command. @param makesStore if there is none yet */
export async function withAccess<Result>(
  work: (access: OfflineAccess) => Promise<Result>,
  makesStore = false,
): Promise<Result> {
  const { openOfflineAccess } = await import('../app/offline.ts');
  return withOpened((settings) => openOfflineAccess(settings, makesStore), work);
}
