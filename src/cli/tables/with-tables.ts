import { keepHeapSmall } from './heap.ts';
import type { TableAccess } from './table-access.ts';

/** The option of every command on tables. */
export interface UrlOption {
  /** The address of a service; without it the commands work on the store of the settings. */
  readonly url?: string;
}

/** Opens the tables for the work, and closes them after it. Throws UsageError, SettingsError. */
export async function withTables<Result>(
  { url }: UrlOption,
  work: (tables: TableAccess) => Promise<Result>,
): Promise<Result> {
  keepHeapSmall();
  if (url !== undefined) {
    const { serviceTables } = await import('./service-tables.ts');
    return work(await serviceTables(url));
  }
  const { withStoreTables } = await import('./store-tables.ts');
  return withStoreTables(work);
}
