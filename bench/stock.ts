import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sourceFile } from './source-file.ts';
import type { Workplace } from './workplace.ts';

/** Ten million items take a minute or two on an idle machine. */
const fillMsMax = 20 * 60_000;

/** Items by table. */
export type Tables = Readonly<Record<string, number>>;

/**
 * A data folder that lasts for the whole run, so that a table of ten million items is made once. Creates of one case
 * stay in it for the next: a table has at least the items that it was made with.
 */
export class Stock {
  #folder: string | undefined;
  readonly #made = new Set<string>();

  /** Adds what is not there yet. @returns the data folder, for a service to be started on */
  async with(workplace: Workplace, tables: Tables, tell: (line: string) => void): Promise<string> {
    this.#folder ??= mkdtempSync(join(tmpdir(), 'counterfoil-bench-stock-'));
    // One folder deeper, since the service keeps its master key beside its data.
    const data = join(this.#folder, 'data');
    const wanted = Object.fromEntries(Object.entries(tables).filter(([name]) => !this.#made.has(name)));
    await fillTables(workplace, data, wanted, tell);
    for (const name of Object.keys(wanted)) this.#made.add(name);
    return data;
  }

  /** What a failed case has left in it, nobody knows: the next one gets a new folder. */
  clear(): void {
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true, force: true });
    this.#folder = undefined;
    this.#made.clear();
  }
}

/** The table of the stock that has so many items. */
export function stockTable(items: number): string {
  return `items-${items}`;
}

export async function fillTables(
  workplace: Workplace,
  folder: string,
  tables: Tables,
  tell: (line: string) => void,
): Promise<void> {
  const entries = Object.entries(tables);
  if (entries.length === 0) return;
  const items = entries.reduce((sum, [, count]) => sum + count, 0);
  const began = performance.now();
  const tablesArgs = entries.map(([name, count]) => `${name}=${count}`);
  await workplace.run(process.execPath, [sourceFile('fill.ts'), folder, 'bulk', ...tablesArgs], {
    msMax: fillMsMax,
  });
  const seconds = (performance.now() - began) / 1_000;
  const tablesText = entries.length === 1 ? 'a table' : `${entries.length} tables`;
  tell(`  made ${tablesText} of ${items.toLocaleString('en')} items in ${seconds.toFixed(1)} s`);
}
