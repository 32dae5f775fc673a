import { existsSync, realpathSync, writeFileSync } from 'node:fs';
import { isAbsolute, relative, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Command } from 'commander';
import { type Finding, worstStatus } from '../app/doctor/finding.ts';
import type { ReportedSetting } from '../settings/report.ts';
import { describe, type JsonOption } from './command.ts';
import { commandSettings, settingsFile } from './command-settings.ts';
import { printListing, printResult } from './output/print.ts';
import type { Column } from './output/table.ts';
import { WorkFailed } from './problems.ts';

const columns: readonly Column<ReportedSetting>[] = [
  { title: 'SETTING', cell: ({ name }) => name },
  { title: 'VALUE', cell: settingValue, style: ({ isSet }) => (isSet ? undefined : 'dim') },
  { title: 'FROM', cell: settingSource, style: ({ origin }) => (origin === 'default' ? 'dim' : 'green') },
];

/** `counterfoil config`: exits with 2 if a setting is invalid, and lists all that are. */
export function defineConfig(command: Command): void {
  describe(command, {
    description:
      'Print the settings in force, and where each comes from: a variable, counterfoil.json or the default. Of a secret it ' +
      'prints only whether it is set.',
    examples: ['config', 'config --json'],
    json: 'lines',
  }).action(config);
}

async function config({ json }: JsonOption): Promise<void> {
  const { reportSettings } = await import('../settings/report.ts');
  const settings = reportSettings({ env: process.env, file: settingsFile, simulate: false });
  await printListing(settings, { json, columns, toJson: settingJson, none: 'No settings.' });
}

function settingValue({ isSecret, isSet, value }: ReportedSetting): string | undefined {
  if (!isSet) return undefined;
  if (isSecret) return '(set)';
  if (Array.isArray(value)) return value.join(',');
  return typeof value === 'object' ? JSON.stringify(value) : String(value) || undefined;
}

function settingSource({ origin, variable }: ReportedSetting): string {
  switch (origin) {
    case 'environment':
      return variable ?? '';
    case 'environment_file':
      return `${variable}_FILE`;
    case 'file':
      return settingsFile;
    case 'default':
      return 'default';
  }
}

function settingJson({ name, variable, value, isSet, isSecret, origin }: ReportedSetting): object {
  return {
    ...{ name, variable: variable ?? null, value: value ?? null },
    ...{ is_set: isSet, is_secret: isSecret, source: origin },
  };
}

/** Published at the root of the package. */
const schemaName = 'counterfoil.schema.json';
const schemaFile = fileURLToPath(import.meta.resolve(`counterfoil/${schemaName}`));
const installedSchema = `./node_modules/counterfoil/${schemaName}`;

interface InitOptions extends JsonOption {
  readonly force?: boolean;
}

/** `counterfoil init`: exits with 1 if there is a file already. */
export function defineInit(command: Command): void {
  describe(command, {
    description:
      'Write a counterfoil.json to start from. It changes nothing by itself, and names the schema by which an editor completes ' +
      'and checks settings.',
    examples: ['init', 'init --force'],
  })
    .option('--force', 'replace the file if there is one')
    .action(init);
}

async function init({ json, force = false }: InitOptions): Promise<void> {
  const { loadSettings } = await import('../settings/load.ts');
  // The file has the defaults, so it changes nothing.
  const { host, port, data, payments } = loadSettings({ env: {}, file: '', simulate: false });
  const settings = { $schema: schemaReference(), host, port, data, payments: { routes: payments.routes } };
  write(`${JSON.stringify(settings, null, 2)}\n`, force);
  printResult(json, { file: settingsFile, schema: settings.$schema }, `${settingsFile} is written`);
}

function write(text: string, force: boolean): void {
  try {
    writeFileSync(settingsFile, text, { flag: force ? 'w' : 'wx' });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const message =
      code === 'EEXIST'
        ? `${settingsFile} exists; --force replaces it`
        : `${settingsFile} cannot be written (${code})`;
    throw new WorkFailed(code === 'EEXIST' ? 'file_exists' : 'file_not_written', message);
  }
}

/** Relative where the package is below this folder, as after npm install, so that the file can be moved with the project. */
function schemaReference(): string {
  if (existsSync(installedSchema)) return installedSchema;
  const path = relative(realpathSync('.'), realpathSync(schemaFile));
  const isBelow = !path.startsWith('..') && !isAbsolute(path);
  return isBelow ? `./${path.split(sep).join('/')}` : pathToFileURL(schemaFile).href;
}

/** `counterfoil doctor`. */
export function defineDoctor(command: Command): void {
  describe(command, {
    description:
      'Check settings, store, master keys, secrets, clock, disk, address and processors, and print what to do. Exits with 1 ' +
      'if there is a problem. Works while the service is running.',
    examples: ['doctor', 'doctor --json'],
  }).action(doctor);
}

/**
 * Exits with 0 if there is no problem, with 1 if there is one, and
 * with 2 if it could not run.
 */
async function doctor({ json }: JsonOption): Promise<void> {
  const { examine } = await import('../app/doctor/doctor.ts');
  const findings = await examine(commandSettings);
  const status = worstStatus(findings);
  printResult(json, { status, checks: findings.map(findingJson) }, findings.map(findingLine));
  // Exits explicitly, because idle connections to processors keep the process alive for a while.
  process.stdout.write('', () => process.exit(status === 'problem' ? 1 : 0));
}

function findingLine(finding: Finding): string {
  return `${finding.status} ${findingSentence(finding)}`;
}

function findingJson(finding: Finding): object {
  return { status: finding.status, message: findingSentence(finding) };
}

function findingSentence({ check, message, action }: Finding): string {
  const text = message === '' ? check : `${check}: ${message}`;
  return action === undefined ? text : `${text}; ${action}`;
}
