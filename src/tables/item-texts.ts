import { LRUCache } from 'lru-cache';
import type { Space } from '../storage/engine.ts';
import { itemText } from '../storage/item-text.ts';
import { tagOfText } from './entity-tags.ts';
import { itemTextsCachedMax, itemTextsCachedSizeMax } from './limits.ts';

/** An item as a response contains it. */
export interface ItemText {
  /** The item as JSON. */
  readonly text: string;
  readonly tag: string;
}

interface CachedText extends ItemText {
  readonly value: string;
}

/** The texts and tags of items that are read often: making them costs as much as finding the item. */
export class ItemTexts {
  readonly #cached = new LRUCache<string, CachedText>({
    max: itemTextsCachedMax,
    maxSize: itemTextsCachedSizeMax,
    sizeCalculation: ({ text, value }) => text.length + value.length,
  });

  /** @param value as it is now; a text of an earlier value is not returned */
  of(space: Space, id: string, value: string): ItemText {
    const key = `${space} ${id}`;
    const cached = this.#cached.get(key);
    if (cached?.value === value) return cached;
    const text = itemText(id, value);
    const made = { text, tag: tagOfText(text), value };
    this.#cached.set(key, made);
    return made;
  }
}
