import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { ServiceError } from '../errors.ts';
import type { Space } from '../storage/engine.ts';
import { itemText } from '../storage/item-text.ts';
import type { TableItem } from './table-item.ts';

/** The tags in a condition: opaque tags without their quotes, or `any` for `*` (RFC 9110, 13.1). */
export type EntityTags = 'any' | readonly string[];

/** What `put` requires of the existing item: nothing, one of some tags, or that there is none. */
export type PutCondition = { readonly ifMatch: EntityTags } | 'ifNew' | undefined;

/** The error of a `put` whose condition does not hold (RFC 9110, 13.1), by the error of the write that tried it. */
export const unmetCondition: ReadonlyMap<string | undefined, ServiceError> = new Map([
  ['item_exists', preconditionFailed('The table already has an item with this id; nothing was changed.')],
  ['item_not_found', preconditionFailed('The table has no item with this id; nothing was changed.')],
]);

function preconditionFailed(message: string): ServiceError {
  return new ServiceError('precondition_failed', { message });
}

/** The tag of an item's content: equal content has an equal tag. */
export function itemTag({ id, name }: TableItem): string {
  return hashText(itemText(id, name));
}

function hashText(json: string): string {
  return hash('sha256', json, 'base64url').slice(0, 22);
}

/** An item as a response contains it. */
export interface ItemText {
  /** The item as JSON. */
  readonly text: string;
  readonly tag: string;
}

interface CachedText extends ItemText {
  readonly value: string;
}

/** Items cached as their response text, and the characters of all of them: the items that are read often. */
const textsCachedMax = 4_096;
const textsCachedSizeMax = 4 * 1024 * 1024;

/** Caches the texts and tags of items that are read often: making them costs as much as finding the item. */
export class ItemTexts {
  readonly #cached = new LRUCache<string, CachedText>({
    max: textsCachedMax,
    maxSize: textsCachedSizeMax,
    sizeCalculation: ({ text, value }) => text.length + value.length,
  });

  /** @param value the current one; the cached text of an earlier value is not returned */
  get(space: Space, id: string, value: string): ItemText {
    const key = `${space} ${id}`;
    const cached = this.#cached.get(key);
    if (cached?.value === value) return cached;
    const text = itemText(id, value);
    const made = { text, tag: hashText(text), value };
    this.#cached.set(key, made);
    return made;
  }
}
