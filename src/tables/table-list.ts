import type { Engine, SpaceFacts } from '../storage/engine.ts';
import { isTable, tableName, tableSpace } from './table-item.ts';
import type { TablePolicy } from './table-policy.ts';

/** A table in the list of tables. The numbers are absent if the engine does not know them without reading the table. */
export interface TableFacts {
  readonly name: string;
  readonly count?: number;
  /** Of all items as JSON text. */
  readonly bytes?: number;
}

/** Of a declared table before its first item. */
export const emptyFacts = { count: 0, textBytes: 0, version: '0' } satisfies SpaceFacts;

/** `next` is the last name if there are more. */
export interface TableList {
  readonly tables: readonly TableFacts[];
  readonly next: string | undefined;
}

interface Listed {
  readonly engine: Engine;
  readonly policy: TablePolicy;
}

interface ListRange {
  readonly limit: number;
  readonly after: string | undefined;
  readonly isVisible: (table: string) => boolean;
}

export async function listTables(listed: Listed, range: ListRange): Promise<TableList> {
  const { limit, after = '', isVisible } = range;
  const names = (await namesOf(listed)).filter((name) => isVisible(name) && name > after).sort();
  const tables: TableFacts[] = [];
  for (const name of names.slice(0, limit)) {
    const facts = await factsOf(listed, name);
    // Another caller may have dropped it meanwhile.
    if (facts !== undefined) tables.push({ name, ...facts });
  }
  return { tables, next: names.length > limit ? names[limit - 1] : undefined };
}

async function namesOf({ engine, policy }: Listed): Promise<readonly string[]> {
  const made = policy.tables === 'declared' ? [] : (await engine.spaces()).filter(isTable).map(tableName);
  return [...new Set([...made, ...policy.declared])];
}

async function factsOf(
  { engine, policy }: Listed,
  name: string,
): Promise<Omit<TableFacts, 'name'> | undefined> {
  const described = await engine.describe(tableSpace(name));
  if (described === undefined && !policy.declared.includes(name)) return undefined;
  const { count, textBytes }: SpaceFacts = described ?? (engine.reads === 'snapshot' ? emptyFacts : {});
  return {
    ...(count === undefined ? {} : { count }),
    ...(textBytes === undefined ? {} : { bytes: textBytes }),
  };
}
