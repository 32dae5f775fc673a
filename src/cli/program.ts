import { Command } from 'commander';
import { version } from '../version.ts';
import { addCommonOptions, describe, type JsonOption } from './command.ts';
import { printResult, watchOutput } from './output/print.ts';
import { hasColors, styled } from './output/terminal-text.ts';
import { reportProblems } from './problems.ts';

/** Adds options, subcommands and the action to the command of its family. Completion scripts need the whole tree. */
type Define = (command: Command, wholeProgram: () => Promise<Command>) => void;

interface Family {
  readonly name: string;
  readonly group: 'Serve:' | 'Payments:' | 'Data:' | 'Access:' | 'Operate:';
  readonly summary: string;
  /** Loads the file of the family, so that no command waits for the imports of another one. */
  readonly load: () => Promise<Define>;
  readonly hidden?: true;
}

/** Every command, with the file that defines it. */
const families: readonly Family[] = [
  {
    ...{ name: 'serve', group: 'Serve:', summary: 'serve payments, tables and sign-in' },
    load: async () => (await import('./serve.ts')).defineServe,
  },
  {
    ...{ name: 'worker', group: 'Serve:', summary: 'serve as one process of serve --workers', hidden: true },
    load: async () => (await import('./serve.ts')).defineWorker,
  },
  {
    ...{ name: 'init', group: 'Serve:', summary: 'write a counterfoil.json to start from' },
    load: async () => (await import('./installation.ts')).defineInit,
  },
  {
    ...{ name: 'config', group: 'Serve:', summary: 'print the settings in force and where each comes from' },
    load: async () => (await import('./installation.ts')).defineConfig,
  },
  {
    ...{
      name: 'payments',
      group: 'Payments:',
      summary: 'list, refund, cancel, resolve and reconcile payments',
    },
    load: async () => (await import('./payments.ts')).definePayments,
  },
  {
    ...{ name: 'tables', group: 'Data:', summary: 'list, import, export, copy and drop tables' },
    load: async () => (await import('./tables.ts')).defineTables,
  },
  {
    ...{ name: 'store', group: 'Data:', summary: 'make the tables of DynamoDB, or copy a store' },
    load: async () => (await import('./store.ts')).defineStore,
  },
  {
    ...{ name: 'verify', group: 'Data:', summary: 'read the whole store and print each damage' },
    load: async () => (await import('./store.ts')).defineVerify,
  },
  {
    ...{ name: 'backup', group: 'Data:', summary: 'make a verified backup of the running store' },
    load: async () => (await import('./backup.ts')).defineBackup,
  },
  {
    ...{ name: 'restore', group: 'Data:', summary: 'put a backup into an empty data folder' },
    load: async () => (await import('./backup.ts')).defineRestore,
  },
  {
    ...{ name: 'compact', group: 'Data:', summary: 'make the file of a stopped store as small as it can be' },
    load: async () => (await import('./store.ts')).defineCompact,
  },
  {
    ...{ name: 'recover', group: 'Data:', summary: 'save what can be read of a damaged store' },
    load: async () => (await import('./store.ts')).defineRecover,
  },
  {
    ...{ name: 'keys', group: 'Access:', summary: 'create, list, rotate and revoke API keys' },
    load: async () => (await import('./keys.ts')).defineKeys,
  },
  {
    ...{ name: 'admins', group: 'Access:', summary: 'add, list and remove administrators of the console' },
    load: async () => (await import('./console.ts')).defineAdmins,
  },
  {
    ...{
      name: 'integrations',
      group: 'Access:',
      summary: 'list sign-in integrations, and approve them for the console',
    },
    load: async () => (await import('./console.ts')).defineIntegrations,
  },
  {
    ...{ name: 'users', group: 'Access:', summary: 'list, show and delete users' },
    load: async () => (await import('./people.ts')).defineUsers,
  },
  {
    ...{ name: 'sessions', group: 'Access:', summary: 'list and end sessions' },
    load: async () => (await import('./people.ts')).defineSessions,
  },
  {
    ...{ name: 'audit', group: 'Access:', summary: 'list what administrators have done' },
    load: async () => (await import('./console.ts')).defineAudit,
  },
  {
    ...{ name: 'doctor', group: 'Operate:', summary: 'check the installation and print what to do' },
    load: async () => (await import('./installation.ts')).defineDoctor,
  },
  {
    ...{ name: 'secrets', group: 'Operate:', summary: 'show, rotate and retire the master keys' },
    load: async () => (await import('./secrets.ts')).defineSecrets,
  },
  {
    ...{ name: 'completion', group: 'Operate:', summary: 'print a completion script for a shell' },
    load: async () => (await import('./completion.ts')).defineCompletion,
  },
  {
    ...{ name: 'version', group: 'Operate:', summary: 'print the version' },
    load: async () => defineVersion,
  },
];

function defineVersion(command: Command): void {
  describe(command, { description: 'Print the version.', examples: ['version', 'version --json'] }).action(
    ({ json }: JsonOption) => printResult(json, { version }, version),
  );
}

const exitCodes = `
Exit codes:
  0  done
  1  problems found, or the work failed
  2  the command line or the settings are wrong

Run "counterfoil help <command>" for the options and examples of a command.`;

const helpDescription = 'print the help of a command';

/** Runs a command line, and sets the exit status. @param args without the paths of Node.js and of the program */
export async function run(args: readonly string[]): Promise<void> {
  watchOutput();
  try {
    const program = await programFor(args);
    await program.parseAsync([...args], { from: 'user' });
  } catch (error) {
    reportProblems(error, args.includes('--json'));
  }
}

/** The tree with every command, for those who read all of it: completion scripts and tests. */
export function wholeProgram(): Promise<Command> {
  return buildProgram(() => true);
}

/** The tree in which the families that the command line may name are loaded; the others have a name and a summary. */
async function programFor(args: readonly string[]): Promise<Command> {
  const [first, second] = args.filter((arg) => !arg.startsWith('-'));
  return buildProgram(({ name }) => name === first || (first === 'help' && name === second));
}

async function buildProgram(isLoaded: (family: Family) => boolean): Promise<Command> {
  const program = new Command('counterfoil')
    .exitOverride()
    // `reportProblems` prints errors; this is the help that commander shows when a subcommand is missing.
    .configureOutput({
      outputError: () => undefined,
      getOutHasColors: () => hasColors(process.stdout),
      getErrHasColors: () => hasColors(process.stderr),
    })
    .configureHelp({ styleTitle: (title) => styled('bold', title), subcommandTerm: commandTerm })
    .helpOption('-h, --help', 'print this help')
    .commandsGroup('Operate:')
    .helpCommand('help [command]', helpDescription);
  describe(program, {
    description: 'Card payments, key-value tables and sign-in behind one HTTP interface.',
    examples: ['serve --simulate', 'payments list --status needs_review', 'doctor --json'],
    json: 'none',
  });
  addCommonOptions(program);
  program.addHelpText('after', exitCodes);
  for (const family of families) await add(program, family, isLoaded(family));
  return program;
}

async function add(program: Command, { name, group, summary, load, hidden }: Family, isLoaded: boolean) {
  const command = program.command(name, { hidden: hidden === true }).helpGroup(group);
  if (isLoaded) {
    (await load())(command, wholeProgram);
    addCommonOptions(command);
    if (command.commands.length > 0)
      command.commandsGroup('Commands:').helpCommand('help [command]', helpDescription);
  }
  command.summary(summary);
}

/** How a list of commands shows one: its name and arguments. */
function commandTerm(command: Command): string {
  const shown = command.registeredArguments.map((argument) =>
    argument.required ? `<${argument.name()}>` : `[${argument.name()}]`,
  );
  return [command.name(), ...shown].join(' ');
}
