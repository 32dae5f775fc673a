import type { Tables } from '../../tables/tables.ts';
import { withOpened } from '../command.ts';

/** Opens the tables of the settings for the work. */
export async function withTables<Result>(work: (tables: Tables) => Promise<Result>): Promise<Result> {
  const { openOfflineTables } = await import('../../app/offline/tables.ts');
  return withOpened(openOfflineTables, ({ tables }) => work(tables));
}
