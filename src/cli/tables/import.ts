import type { JsonOption } from '../command.ts';
import { printResult } from '../output/print.ts';
import { ProgressBar } from '../output/progress-bar.ts';
import { WorkFailed } from '../problems.ts';
import { type Format, formatOf } from './file-format.ts';
import { fieldNamesOf, openSource } from './import-source.ts';
import { SkipReport } from './skip-report.ts';
import { sortedRows } from './sorted-rows.ts';
import { type UrlOption, withTables } from './with-tables.ts';
import { RowsNotWritten, writeAll } from './write-all.ts';
import type { OnConflict, Target } from './write-rows.ts';

interface ImportOptions extends JsonOption, UrlOption {
  readonly map?: string;
  readonly onConflict: OnConflict;
  readonly format?: Format;
  readonly skipped?: string;
  readonly sort: boolean;
}

/** `counterfoil tables import`. Throws UsageError, and WorkFailed with the line at fault. */
export async function importTable(table: string, file: string, options: ImportOptions): Promise<void> {
  const { json, onConflict } = options;
  const format = formatOf(file, options.format);
  const names = fieldNamesOf(options.map);
  const report = new SkipReport(options.skipped);
  const { written, skipped } = await withTables(options, async (tables) => {
    const target: Target = { tables, table, onConflict, nameOf: ({ line }) => `line ${line}` };
    const source = await openSource(file, format, names);
    const bar = new ProgressBar();
    const total = (done: number) => {
      const share = source.share();
      return share === undefined ? undefined : Math.round(done / share);
    };
    const onSorted = (count: number) => bar.show(count, total(count), 'sorted');
    const rows = options.sort ? sortedRows(source.rows, onSorted) : source.rows;
    try {
      return await writeAll(target, rows, { bar, total, onSkipped: (skipped) => report.add(skipped) });
    } catch (error) {
      throw error instanceof RowsNotWritten ? failureOf(error, file) : error;
    } finally {
      source.close();
      report.close();
    }
  });
  const skips = onConflict === 'skip' ? `; ${skipped} were there already` : '';
  printResult(json, { table, written, skipped }, `${written} items are written to ${table}${skips}`);
}

function failureOf(failure: RowsNotWritten, file: string): unknown {
  const { code } = failure.cause as NodeJS.ErrnoException;
  const isOfFile = code !== undefined && /^(ENOENT|EISDIR|EACCES|EIO|Z_[A-Z_]+)$/.test(code);
  if (!isOfFile) return failure.reported;
  return new WorkFailed('file_not_read', `${file} cannot be read (${code}); ${failure.summary}`);
}
