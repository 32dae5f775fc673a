import { ServiceError } from '../errors.ts';
import { pageItemsMax } from './limits.ts';
import { checkId, type TableItem } from './table-item.ts';

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
    throw new ServiceError('invalid_request', {
      param: 'limit',
      message: `limit must be a whole number from 1 to ${pageItemsMax}.`,
    });
  }
}
