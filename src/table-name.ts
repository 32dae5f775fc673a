import { tableNameCharactersMax } from './storage/limits.ts';

/** A table name: DynamoDB's characters, and no path segment that a URL parser takes out. */
export const tableNamePattern = `^(?!\\.{1,2}$)[A-Za-z0-9_.-]{1,${tableNameCharactersMax}}$`;

const expression = new RegExp(tableNamePattern);

export function isTableName(text: string): boolean {
  return expression.test(text);
}
