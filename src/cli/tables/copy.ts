import type { JsonOption } from '../command.ts';
import { printResult } from '../output/print.ts';
import { ProgressBar } from '../output/progress-bar.ts';
import { UsageError } from '../problems.ts';
import type { Rows } from './row.ts';
import type { ItemRead } from './table-access.ts';
import { type UrlOption, withTables } from './with-tables.ts';
import { RowsNotWritten, writeAll } from './write-all.ts';
import type { OnConflict, Target } from './write-rows.ts';

interface CopyOptions extends JsonOption, UrlOption {
  readonly onConflict: OnConflict;
}

/** `counterfoil tables copy`: the items as of one moment. Throws UsageError, and WorkFailed with the item at fault. */
export async function copyTable(from: string, to: string, options: CopyOptions): Promise<void> {
  const { json, onConflict } = options;
  if (from === to) throw new UsageError('tables copy: the two tables must have different names');
  const { written, skipped } = await withTables(options, async (tables) => {
    const nameOf: Target['nameOf'] = ({ item }) => `item ${JSON.stringify(item.id)}`;
    const target: Target = { tables, table: to, onConflict, nameOf };
    const read = await tables.read(from);
    return writeAll(target, rowsOf(read), { bar: new ProgressBar(), total: () => read.count }).catch(
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
async function* rowsOf({ groups }: ItemRead): Rows {
  let line = 0;
  for await (const group of groups()) yield group.map((item) => ({ line: ++line, item }));
}
