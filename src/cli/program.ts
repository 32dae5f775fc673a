import { Command } from 'commander';
import { version } from '../version.ts';
import { addCommonOptions, describe, type JsonOption } from './command.ts';
import { printResult, watchOutput } from './output/print.ts';
import { hasColors, styled } from './output/terminal-text.ts';
import { reportProblems } from './problems.ts';

/** Adds options, subcommands and the action to the command of its family. Completion scripts need the whole tree. */
type Define = (command: Command, wholeProgram: () => Promise<Command>) => void;

type Group = 'Serve:' | 'Payments:' | 'Data:' | 'Access:' | 'Operate:';

/** Loads the file of a family, so that no command waits for the imports of another one. */
type Load = () => Promise<Define>;

/** Every command by its group and name, with its summary and the file that defines it. */
const families: Readonly<Record<Group, Readonly<Record<string, readonly [summary: string, load: Load]>>>> = {
  'Serve:': {
    serve: ['serve payments, tables and sign-in', async () => (await import('./serve.ts')).defineServe],
    worker: [
      'serve as one process of serve --workers',
      async () => (await import('./serve.ts')).defineWorker,
    ],
    init: [
      'write a counterfoil.json to start from',
      async () => (await import('./installation.ts')).defineInit,
    ],
    config: [
      'print the settings in force and where each comes from',
      async () => (await import('./installation.ts')).defineConfig,
    ],
  },
  'Payments:': {
    payments: [
      'list, refund, cancel, resolve and reconcile payments',
      async () => (await import('./payments.ts')).definePayments,
    ],
  },
  'Data:': {
    tables: [
      'list, import, export, copy and drop tables',
      async () => (await import('./tables.ts')).defineTables,
    ],
    store: [
      'make the tables of DynamoDB, or copy a store',
      async () => (await import('./store.ts')).defineStore,
    ],
    verify: [
      'read the whole store and print each damage',
      async () => (await import('./store.ts')).defineVerify,
    ],
    backup: [
      'make a verified backup of the running store',
      async () => (await import('./backup.ts')).defineBackup,
    ],
    restore: [
      'put a backup into an empty data folder',
      async () => (await import('./backup.ts')).defineRestore,
    ],
    compact: [
      'make the file of a stopped store as small as it can be',
      async () => (await import('./store.ts')).defineCompact,
    ],
    recover: [
      'save what can be read of a damaged store',
      async () => (await import('./store.ts')).defineRecover,
    ],
  },
  'Access:': {
    keys: ['create, list, rotate and revoke API keys', async () => (await import('./keys.ts')).defineKeys],
    admins: [
      'add, list and remove administrators of the console',
      async () => (await import('./console.ts')).defineAdmins,
    ],
    integrations: [
      'list sign-in integrations, and approve them for the console',
      async () => (await import('./console.ts')).defineIntegrations,
    ],
    users: ['list, show and delete users', async () => (await import('./people.ts')).defineUsers],
    sessions: ['list and end sessions', async () => (await import('./people.ts')).defineSessions],
    audit: ['list what administrators have done', async () => (await import('./console.ts')).defineAudit],
  },
  'Operate:': {
    doctor: [
      'check the installation and print what to do',
      async () => (await import('./installation.ts')).defineDoctor,
    ],
    secrets: [
      'show, rotate and retire the master keys',
      async () => (await import('./secrets.ts')).defineSecrets,
    ],
    completion: [
      'print a completion script for a shell',
      async () => (await import('./completion.ts')).defineCompletion,
    ],
    version: ['print the version', async () => defineVersion],
  },
};

/** Only `serve --workers` starts it. */
const hiddenName = 'worker';

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
  return buildProgram((name) => name === first || (first === 'help' && name === second));
}

async function buildProgram(isLoaded: (name: string) => boolean): Promise<Command> {
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
  for (const [group, members] of Object.entries(families))
    for (const [name, [summary, load]] of Object.entries(members)) {
      const command = program.command(name, { hidden: name === hiddenName }).helpGroup(group);
      if (isLoaded(name)) addFamily(command, await load());
      command.summary(summary);
    }
  return program;
}

function addFamily(command: Command, define: Define): void {
  define(command, wholeProgram);
  addCommonOptions(command);
  if (command.commands.length > 0)
    command.commandsGroup('Commands:').helpCommand('help [command]', helpDescription);
}

/** How a list of commands shows one: its name and arguments. */
function commandTerm(command: Command): string {
  const shown = command.registeredArguments.map((argument) =>
    argument.required ? `<${argument.name()}>` : `[${argument.name()}]`,
  );
  return [command.name(), ...shown].join(' ');
}
