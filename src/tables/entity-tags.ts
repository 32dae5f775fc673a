import { hash } from 'node:crypto';
import { itemText } from '../storage/item-text.ts';
import type { TableItem } from './table-item.ts';

/** The tags in a condition: opaque tags without their quotes, or `any` for `*` (RFC 9110, 13.1). */
export type EntityTags = 'any' | readonly string[];

/** The tag of an item's content: equal content has an equal tag. */
export function itemTag({ id, name }: TableItem): string {
  return tagOfText(itemText(id, name));
}

/** @param text of the item, as JSON */
export function tagOfText(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, 22);
}
