import { loadSettings } from '../settings/load.ts';
import type { Settings } from '../settings/schema.ts';
import { reportProblems } from './problems.ts';

/** Receives the arguments behind its name. */
type Subcommand = (args: readonly string[]) => Promise<void>;

/**
 * Runs the subcommand that the first argument names; `help`, and no argument, print the usage. An unknown name sets the exit
 * status 2, an error that of `reportProblems`.
 */
export async function runSubcommand(
  usage: string,
  subcommands: Readonly<Record<string, Subcommand>>,
  [name = 'help', ...rest]: readonly string[],
): Promise<void> {
  const subcommand = Object.hasOwn(subcommands, name) ? subcommands[name] : undefined;
  if (name === 'help') process.stdout.write(usage);
  else if (subcommand === undefined) {
    process.stderr.write(usage);
    process.exitCode = 2;
  } else await subcommand(rest).catch(reportProblems);
}

/** The settings of the environment and of `counterfoil.json`. Throws SettingsError with all that are invalid. */
export function commandSettings(): Settings {
  return loadSettings({ env: process.env, file: 'counterfoil.json', simulate: false });
}

/** Opens what a command needs with its settings, and closes it after the work. */
export async function withOpened<Opened extends { close(): Promise<void> }, Result>(
  open: (settings: Settings) => Promise<Opened>,
  work: (opened: Opened) => Promise<Result>,
): Promise<Result> {
  const opened = await open(commandSettings());
  try {
    return await work(opened);
  } finally {
    await opened.close();
  }
}
