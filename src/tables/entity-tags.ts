import { hash } from 'node:crypto';
import { itemText } from '../storage/item-text.ts';
import type { TableItem } from './table-item.ts';

/** What a condition names: opaque tags without their quotes, or `any` for `*` (RFC 9110, 13.1). */
export type EntityTags = 'any' | readonly string[];

/** Of an item's content: the same whenever it reads the same. */
export function itemTag({ id, name }: TableItem): string {
  return hash('sha256', itemText(id, name), 'base64url').slice(0, 22);
}

export function matches(tags: EntityTags, tag: string): boolean {
  return tags === 'any' || tags.includes(tag);
}
