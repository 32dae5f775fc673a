import { invalidRequest } from '../errors.ts';
import type { Scan } from '../storage/engine.ts';
import { itemsOf } from '../storage/item-text.ts';
import { checkId, type TableItem } from './table-item.ts';

/** Items of one page. A caller that needs more requests the next page, or reads the whole table. */
export const pageItemsMax = 1_000;
/** A page ends after the item that reaches this size, as in DynamoDB, because a page is built in memory. */
export const pageBytesMax = 1024 * 1024;

/** Consecutive items; `next` is the id of the last one, or undefined when there are no more. */
export interface Page {
  readonly items: readonly TableItem[];
  readonly next: string | undefined;
}

/** The items of a page: after an id, and with ids that begin with a prefix. */
export interface PageRange {
  readonly after?: string | undefined;
  readonly prefix?: string | undefined;
}

/** Throws `invalid_request`. */
export function checkPage(limit: number, { after, prefix }: PageRange): void {
  if (after !== undefined) checkId(after, 'after');
  if (prefix !== undefined) checkId(prefix, 'prefix');
  if (!Number.isInteger(limit) || limit < 1 || limit > pageItemsMax) {
    throw invalidRequest('limit', `limit must be a whole number from 1 to ${pageItemsMax}.`);
  }
}

/** The first `limit` items of a scan; fewer when they reach `pageBytesMax`. */
export async function firstItems({ chunks }: Scan, limit: number): Promise<Page> {
  const items: TableItem[] = [];
  let bytes = 0;
  for await (const item of itemsOf(chunks)) {
    if (items.length === limit || bytes >= pageBytesMax) return { items, next: items.at(-1)?.id };
    items.push(item);
    bytes += Buffer.byteLength(item.id) + Buffer.byteLength(item.name);
  }
  return { items, next: undefined };
}
