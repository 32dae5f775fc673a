import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Environment } from './environment.ts';
import { sourceFile } from './source-file.ts';

/** Ten million items take a minute or two on an idle machine. */
const fillMsMax = 20 * 60_000;

/** Items by table. */
export type Tables = Readonly<Record<string, number>>;

/**
 * A data folder that all cases of a run share, so that a table of ten million items is filled once. Items that one case
 * creates are there for the next one: a table has at least the items that it was filled with.
 */
export class Fixtures {
  #folder: string | undefined;
  readonly #filled = new Set<string>();

  /** Adds the tables that are missing. @returns the data folder, for a service to start on */
  async with(environment: Environment, tables: Tables, log: (line: string) => void): Promise<string> {
    this.#folder ??= mkdtempSync(join(tmpdir(), 'counterfoil-bench-fixtures-'));
    // A subfolder, because the service writes its master key next to its data folder.
    const data = join(this.#folder, 'data');
    const missing = Object.fromEntries(Object.entries(tables).filter(([name]) => !this.#filled.has(name)));
    await fillTables(environment, data, missing, log);
    for (const name of Object.keys(missing)) this.#filled.add(name);
    return data;
  }

  /** Called after a failed case, whose data is undefined: the next case gets a new folder. */
  clear(): void {
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true, force: true });
    this.#folder = undefined;
    this.#filled.clear();
  }
}

/** The name of the fixture table with so many items. */
export function fixtureTable(items: number): string {
  return `items-${items}`;
}

/** @param way as `fill.ts` knows it: `single` makes a commit for each item */
export async function fillTables(
  environment: Environment,
  folder: string,
  tables: Tables,
  log: (line: string) => void,
  way: 'bulk' | 'single' = 'bulk',
): Promise<void> {
  const entries = Object.entries(tables);
  if (entries.length === 0) return;
  const items = entries.reduce((sum, [, count]) => sum + count, 0);
  const began = performance.now();
  const tablesArgs = entries.map(([name, count]) => `${name}=${count}`);
  await environment.run(process.execPath, [sourceFile('fill.ts'), folder, way, ...tablesArgs], {
    msMax: fillMsMax,
  });
  const seconds = (performance.now() - began) / 1_000;
  const tablesText = entries.length === 1 ? 'a table' : `${entries.length} tables`;
  log(`  filled ${tablesText} of ${items.toLocaleString('en')} items in ${seconds.toFixed(1)} s`);
}
