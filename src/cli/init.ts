import { existsSync, realpathSync, writeFileSync } from 'node:fs';
import { isAbsolute, relative, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Command } from 'commander';
import { describe, type JsonOption } from './command.ts';
import { settingsFile } from './command-settings.ts';
import { printResult } from './output/print.ts';
import { WorkFailed } from './problems.ts';

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
  // With its defaults the file changes nothing.
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
