import type { Command } from 'commander';
import type { ReportedSetting } from '../settings/report.ts';
import { describe, type JsonOption } from './command.ts';
import { settingsFile } from './command-settings.ts';
import { printListing } from './output/print.ts';
import type { Column } from './output/table.ts';

const columns: readonly Column<ReportedSetting>[] = [
  { title: 'SETTING', cell: ({ name }) => name },
  { title: 'VALUE', cell: textOf, style: ({ isSet }) => (isSet ? undefined : 'dim') },
  { title: 'FROM', cell: placeOf, style: ({ origin }) => (origin === 'default' ? 'dim' : 'green') },
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
  await printListing(settings, { json, columns, toJson, none: 'No settings.' });
}

function textOf({ isSecret, isSet, value }: ReportedSetting): string | undefined {
  if (!isSet) return undefined;
  if (isSecret) return '(set)';
  if (Array.isArray(value)) return value.join(',');
  return typeof value === 'object' ? JSON.stringify(value) : String(value) || undefined;
}

function placeOf({ origin, variable }: ReportedSetting): string {
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

function toJson({ name, variable, value, isSet, isSecret, origin }: ReportedSetting): object {
  return {
    ...{ name, variable: variable ?? null, value: value ?? null },
    ...{ is_set: isSet, is_secret: isSecret, source: origin },
  };
}
