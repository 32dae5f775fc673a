import { isUtf8 } from 'node:buffer';
import type { Space } from '../../engine.ts';
import { type Item, itemText } from '../../item-text.ts';
import { bytesOf, leafKey } from '../store.ts';
import {
  countOf,
  emptySortedRun,
  itemTextAt,
  type SortedRun,
  startOf,
  textBytes,
  textOf,
} from './sorted-run.ts';

/** A leaf to check. Its items belong between two keys. */
export interface CheckedLeaf {
  readonly space: Space;
  readonly run: SortedRun;
  /** The greatest key that is before all of its items. */
  readonly before: string;
  readonly key: string;
}

/**
 * Checks the offsets, the text byte by byte, and the order of a leaf.
 *
 * @param report called with one sentence for each problem
 * @returns whether its items can be counted
 */
export function checkLeaf(
  { space, run, before, key }: CheckedLeaf,
  report: (problem: string) => void,
): boolean {
  const name = `${space}: the leaf up to ${JSON.stringify(key.slice(space.length + 1))}`;
  const broken = brokenOffset(run);
  if (broken !== undefined) {
    report(`${name} ${broken}`);
    return false;
  }
  const text = textOf(run);
  // Decoding would replace invalid bytes, and a read sends the bytes as they are.
  if (!isUtf8(text)) {
    report(`${name} is not UTF-8`);
    return true;
  }
  let items: readonly Partial<Item>[];
  try {
    items = JSON.parse(`[${text.toString()}]`) as readonly Partial<Item>[];
  } catch {
    report(`${name} is not well-formed JSON`);
    return false;
  }
  if (items.length !== countOf(run)) report(`${name} holds ${items.length} items and counts ${countOf(run)}`);
  let last = before;
  for (const [index, item] of items.entries()) {
    const place = `${name}, item ${index}`;
    if (!isItem(item)) {
      report(`${place} is no item`);
      continue;
    }
    if (!itemTextAt(run, index).equals(Buffer.from(itemText(item.id, item.name))))
      report(`${place} is not where its offset says`);
    const itemKey = leafKey(space, bytesOf(item.id));
    if (itemKey <= last || itemKey > key) report(`${place} is out of order`);
    last = itemKey;
  }
  return true;
}

function isItem(item: Partial<Item> | null): item is Item {
  return isText(item?.id) && isText(item.name);
}

export function isText(value: unknown): value is string {
  return typeof value === 'string' && value.isWellFormed();
}

/** What is wrong with the count or the offsets of a leaf. */
export function brokenOffset(run: SortedRun): string | undefined {
  if (run.length < emptySortedRun.length) return 'has no count';
  if (countOf(run) === 0) return 'is empty';
  if (textBytes(run) <= 0) return 'counts more items than it has room for';
  for (let index = 0; index < countOf(run); index++) {
    const start = startOf(run, index);
    const isAfterLast = index === 0 ? start === 0 : start > startOf(run, index - 1);
    if (!isAfterLast || start >= textBytes(run)) return `has a wrong offset at item ${index}`;
  }
  return undefined;
}
