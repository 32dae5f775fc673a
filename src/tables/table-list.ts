import { defined } from '../defined.ts';
import type { Engine, SpaceFacts } from '../storage/engine.ts';
import { isTable, tableName, tableSpace } from './table-item.ts';

/** Who may create a table: any caller by its first `create` (`open`), or only the settings (`declared`). */
export interface TablePolicy {
  readonly tables: 'open' | 'declared';
  /** Under `declared`, all tables; each exists, empty, before its first item. */
  readonly declared: readonly string[];
}

/** A table in the list of tables. The numbers are absent if the engine does not know them without reading the table. */
export interface TableFacts {
  readonly name: string;
  readonly count?: number;
  /** Bytes of all items as JSON text. */
  readonly bytes?: number;
}

/** The facts of a declared table before its first item. */
export const emptyFacts = { count: 0, textBytes: 0, version: '0' } satisfies SpaceFacts;

/** `next` is the last name if there are more. */
export interface TableList {
  readonly tables: readonly TableFacts[];
  readonly next: string | undefined;
}

interface ListedTables {
  readonly engine: Engine;
  readonly policy: TablePolicy;
}

interface ListRange {
  readonly limit: number;
  readonly after: string | undefined;
  readonly isVisible: (table: string) => boolean;
}

export async function listTables(listed: ListedTables, range: ListRange): Promise<TableList> {
  const { limit, after = '', isVisible } = range;
  const names = (await allNames(listed)).filter((name) => isVisible(name) && name > after).sort();
  const tables: TableFacts[] = [];
  for (const name of names.slice(0, limit)) {
    const facts = await describeTable(listed, name);
    // Another caller may have dropped it meanwhile.
    if (facts !== undefined) tables.push(facts);
  }
  return { tables, next: names.length > limit ? names[limit - 1] : undefined };
}

async function allNames({ engine, policy }: ListedTables): Promise<readonly string[]> {
  const made = policy.tables === 'declared' ? [] : (await engine.spaces()).filter(isTable).map(tableName);
  return [...new Set([...made, ...policy.declared])];
}

async function describeTable(
  { engine, policy }: ListedTables,
  name: string,
): Promise<TableFacts | undefined> {
  const described = await engine.describe(tableSpace(name));
  if (described === undefined && !policy.declared.includes(name)) return undefined;
  const { count, textBytes }: SpaceFacts = described ?? (engine.reads === 'snapshot' ? emptyFacts : {});
  return { name, ...defined({ count, bytes: textBytes }) };
}
