import type { Command } from 'commander';
import { peoplePageMax } from '../sign-in/limits.ts';
import type { TableFacts, Tables } from '../tables/tables.ts';
import { describe, type JsonOption, oneOf, subcommand } from './command.ts';
import { printListing, printResult } from './output/print.ts';
import type { Column } from './output/table.ts';
import { withTables } from './tables/with-tables.ts';

const columns: readonly Column<TableFacts>[] = [
  { title: 'TABLE', cell: ({ name }) => name },
  { title: 'ITEMS', cell: ({ count }) => count?.toString() },
  { title: 'BYTES', cell: ({ bytes }) => bytes?.toString() },
];
const file = 'NAME.csv or NAME.jsonl, also with .gz at the end; - for a pipe';
const formatFlags = '--format <format>';
const formats = ['csv', 'jsonl'] as const;

/** `counterfoil tables`: works while the service is running. */
export function defineTables(command: Command): void {
  describe(command, {
    description: 'The tables of the service.',
    examples: ['tables list', 'tables import books books.csv --map id=isbn,name=title'],
    json: 'none',
  });
  subcommand(command, 'list', {
    description: 'List the tables, with their items and the bytes of these as JSON.',
    examples: ['tables list', 'tables list --json'],
    json: 'lines',
  }).action(list);
  subcommand(command, 'import', {
    description:
      'Write the items of a CSV or JSON Lines file to a table, 100 in each commit. If it was interrupted, run it again with ' +
      '--on-conflict skip to continue.',
    examples: ['tables import books books.csv', 'tables import books - --format jsonl --on-conflict replace'],
  })
    .argument('<table>', 'made if it is missing, unless tables are declared')
    .argument('<file>', file)
    .option('--map <fields>', 'the columns or fields of the file: id=isbn,name=title')
    .addOption(
      oneOf('--on-conflict <action>', 'what to do with an item whose id the table has', [
        'fail',
        'skip',
        'replace',
      ]).default('fail'),
    )
    .addOption(oneOf(formatFlags, 'the format, if the name of the file does not show it', formats))
    .action(async (table, from, options) =>
      (await import('./tables/import.ts')).importTable(table, from, options),
    );
  subcommand(command, 'export', {
    description: 'Write all items of a table to a CSV or JSON Lines file, as of one moment.',
    examples: ['tables export books books.jsonl.gz', 'tables export books - --format csv'],
  })
    .argument('<table>', 'its name')
    .argument('<file>', file)
    .option('--force', 'replace the file if there is one')
    .addOption(oneOf(formatFlags, 'the format, if the name of the file does not show it', formats))
    .action(async (table, to, options) =>
      (await import('./tables/export.ts')).exportTable(table, to, options),
    );
  subcommand(command, 'drop', {
    description:
      'Delete a table with all of its items, 100 in each commit. If it was interrupted, run it again. A declared table stays, ' +
      'empty.',
    examples: ['tables drop books'],
  })
    .argument('<table>', 'its name')
    .action(drop);
}

async function list({ json }: JsonOption): Promise<void> {
  await withTables((tables) =>
    printListing(allTables(tables), { json, columns, toJson: (table) => table, none: 'No tables.' }),
  );
}

async function* allTables(tables: Tables): AsyncGenerator<TableFacts> {
  let after: string | undefined;
  do {
    const page = await tables.list(peoplePageMax, after, () => true);
    yield* page.tables;
    after = page.next;
  } while (after !== undefined);
}

async function drop(table: string, { json }: JsonOption): Promise<void> {
  await withTables((tables) => tables.drop(table));
  printResult(json, { table, deleted: true }, `Table ${table} is deleted`);
}
