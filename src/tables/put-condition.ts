import { ServiceError } from '../errors.ts';
import type { EntityTags } from './entity-tags.ts';

/** What `put` requires of the item that exists: nothing, one of some tags, or that there is none. */
export type PutCondition = { readonly ifMatch: EntityTags } | 'ifNew' | undefined;

/** A condition of `put` that does not hold (RFC 9110, 13.1), by the error of the write with which it was tried. */
export const unmetCondition: ReadonlyMap<string | undefined, ServiceError> = new Map([
  ['item_exists', unmet('The table already has an item with this id; nothing was changed.')],
  ['item_not_found', unmet('The table has no item with this id; nothing was changed.')],
]);

function unmet(message: string): ServiceError {
  return new ServiceError('precondition_failed', { message });
}
