import { invalidRequest } from '../errors.ts';
import type { Space } from '../storage/engine.ts';
import { itemIdBytesMax, tableNameCharactersMax } from '../storage/limits.ts';
import { isTableName } from '../table-name.ts';

/** DynamoDB's bound on an item. There, attribute names and other attributes use the last of these bytes. */
export const itemBytesMax = 400 * 1024;

export interface TableItem {
  readonly id: string;
  readonly name: string;
}

const spacePrefix = 'table:';

/**
 * The space of a user's table. Rejects `.` and `..`, although the alphabet allows them: in a path they mean "here" and
 * "up" (RFC 3986, 5.2.4), so most clients could not address such a table.
 */
export function tableSpace(table: string): Space {
  if (!isTableName(table)) {
    throw invalidRequest(
      'TABLE_NAME',
      `TABLE_NAME must be 1 to ${tableNameCharactersMax} characters of A-Z, a-z, 0-9, "_", "." and "-", ` +
        'and not "." or "..".',
    );
  }
  return `${spacePrefix}${table}`;
}

export function isTable(space: Space): boolean {
  return space.startsWith(spacePrefix);
}

export function tableName(space: Space): string {
  return space.slice(spacePrefix.length);
}

/** Throws `invalid_request`. */
export function checkItem({ id, name }: TableItem): void {
  const itemBytes = checkId(id) + wellFormedBytes('name', name);
  if (itemBytes > itemBytesMax) {
    throw invalidRequest(
      'name',
      `id and name together must be at most ${itemBytesMax} bytes of UTF-8; these have ${itemBytes}.`,
    );
  }
}

/** @returns the bytes of the id. Throws `invalid_request`. */
export function checkId(id: string, param = 'id'): number {
  const bytes = wellFormedBytes(param, id);
  if (bytes === 0 || bytes > itemIdBytesMax) {
    throw invalidRequest(
      param,
      `${param} must be 1 to ${itemIdBytesMax} bytes of UTF-8; this one has ${bytes}.`,
    );
  }
  return bytes;
}

function wellFormedBytes(param: string, text: string): number {
  if (!text.isWellFormed()) {
    throw invalidRequest(param, `${param} contains half of a surrogate pair, which UTF-8 cannot encode.`);
  }
  return Buffer.byteLength(text);
}
