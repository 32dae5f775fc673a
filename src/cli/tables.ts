import type { Command, Option } from 'commander';
import type { TableFacts } from '../tables/tables.ts';
import { describe, type JsonOption, oneOf, subcommand } from './command.ts';
import { printListing, printResult } from './output/print.ts';
import { ProgressBar } from './output/progress-bar.ts';
import type { Column } from './output/table.ts';
import { UsageError } from './problems.ts';
import type { Rows } from './tables/item-file.ts';
import { type UrlOption, withTables } from './tables/open-tables.ts';
import type { ItemRead } from './tables/table-access.ts';
import { RowsNotWritten, writeAll } from './tables/write-all.ts';
import type { OnConflict, Target } from './tables/write-rows.ts';

const columns: readonly Column<TableFacts>[] = [
  { title: 'TABLE', cell: ({ name }) => name },
  { title: 'ITEMS', cell: ({ count }) => count?.toString() },
  { title: 'BYTES', cell: ({ bytes }) => bytes?.toString() },
];
const file = 'NAME.csv or NAME.jsonl, also with .gz at the end; - for a pipe';
const formatFlags = '--format <format>';
const formats = ['csv', 'jsonl'] as const;
const urlFlags = '--url <url>';
const urlText = 'the address of a service to call; without it, the store of the settings';

/** `counterfoil tables`: works while the service is running. */
export function defineTables(command: Command): void {
  describe(command, {
    description: 'The tables of the service.',
    examples: ['tables list', 'tables import books books.csv --map id=isbn,name=title'],
    json: 'none',
  });
  subcommand(command, 'list', {
    description: 'List the tables, with their items and the bytes of these as JSON.',
    examples: ['tables list --json', 'tables list --url https://api.shop.example'],
    json: 'lines',
  })
    .option(urlFlags, urlText)
    .action(list);
  subcommand(command, 'import', {
    description:
      'Write the items of a CSV or JSON Lines file to a table, 100 in each commit. If it was interrupted, run it again with ' +
      '--on-conflict skip to continue.',
    examples: ['tables import books books.csv', 'tables import books - --format jsonl --on-conflict replace'],
  })
    .argument('<table>', 'made if it is missing, unless tables are declared')
    .argument('<file>', file)
    .option('--map <fields>', 'the columns or fields of the file: id=isbn,name=title')
    .addOption(conflictOption())
    .option('--no-sort', 'write unsorted rows as they come, which is slow for a large table')
    .option('--skipped <report>', 'a file for the line and id of each skipped item, as JSON Lines')
    .addOption(oneOf(formatFlags, 'the format, if the name of the file does not show it', formats))
    .option(urlFlags, urlText)
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
    .option(urlFlags, urlText)
    .action(async (table, to, options) =>
      (await import('./tables/export.ts')).exportTable(table, to, options),
    );
  subcommand(command, 'copy', {
    description:
      'Copy all items of a table to another one, as of one moment, 100 in each commit. If it was interrupted, run it again ' +
      'with --on-conflict skip to continue.',
    examples: ['tables copy books books-2026', 'tables copy books archive --on-conflict replace'],
  })
    .argument('<from>', 'the name of a table')
    .argument('<to>', 'another name; made if it is missing, unless tables are declared')
    .addOption(conflictOption())
    .option(urlFlags, urlText)
    .action(copyTable);
  subcommand(command, 'drop', {
    description:
      'Delete a table with all of its items, 100 in each commit. If it was interrupted, run it again. A declared table stays, ' +
      'empty.',
    examples: ['tables drop books'],
  })
    .argument('<table>', 'its name')
    .option(urlFlags, urlText)
    .action(drop);
}

function conflictOption(): Option {
  const actions = ['fail', 'skip', 'replace'];
  return oneOf('--on-conflict <action>', 'what to do with an item whose id the table has', actions).default(
    'fail',
  );
}

interface Options extends JsonOption, UrlOption {}

async function list(options: Options): Promise<void> {
  const { json } = options;
  await withTables(options, (tables) =>
    printListing(tables.list(), { json, columns, toJson: (table) => table, none: 'No tables.' }),
  );
}

async function drop(table: string, options: Options): Promise<void> {
  await withTables(options, (tables) => tables.drop(table));
  printResult(options.json, { table, deleted: true }, `Table ${table} is deleted`);
}

interface CopyOptions extends JsonOption, UrlOption {
  readonly onConflict: OnConflict;
}

/** `counterfoil tables copy`: the items as of one moment. Throws UsageError, and WorkFailed with the item at fault. */
async function copyTable(from: string, to: string, options: CopyOptions): Promise<void> {
  const { json, onConflict } = options;
  if (from === to) throw new UsageError('tables copy: the two tables must have different names');
  const { written, skipped } = await withTables(options, async (tables) => {
    const describeRow: Target['describeRow'] = ({ item }) => `item ${JSON.stringify(item.id)}`;
    const target: Target = { tables, table: to, onConflict, describeRow };
    const read = await tables.read(from);
    return writeAll(target, numberedRows(read), { bar: new ProgressBar(), total: () => read.count }).catch(
      (error) => {
        throw error instanceof RowsNotWritten ? error.reported : error;
      },
    );
  });
  const skips = onConflict === 'skip' ? `; ${skipped} were there already` : '';
  printResult(
    json,
    { from, to, written, skipped },
    `${written} items of ${from} are written to ${to}${skips}`,
  );
}

/** Their position in the table stands for the line. */
async function* numberedRows({ groups }: ItemRead): Rows {
  let line = 0;
  for await (const group of groups()) yield group.map((item) => ({ line: ++line, item }));
}
