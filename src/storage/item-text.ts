import type { Chunks, Engine, Space } from './engine.ts';
import { scanPageItemsMax } from './limits.ts';

/** An item as the JSON text that responses contain. */
export function itemText(id: string, value: string): string {
  return `{"id":${JSON.stringify(id)},"name":${JSON.stringify(value)}}`;
}

export interface Item {
  readonly id: string;
  readonly name: string;
}

/** The items of a scan as objects, for spaces that the service itself reads. */
export async function* itemsOf(chunks: Chunks): AsyncGenerator<Item> {
  for await (const group of groupsOf(chunks)) yield* group;
}

/** The items of each chunk. Reading them one by one costs as much as parsing them. */
export async function* groupsOf(chunks: Chunks): AsyncGenerator<readonly Item[]> {
  for await (const chunk of chunks) {
    const text = chunk.toString();
    yield JSON.parse(`[${text.startsWith(',') ? text.slice(1) : text}]`) as Item[];
  }
}

/**
 * The items of a space in pages. Each page is a new scan, so reading a large space holds no snapshot for long. Items
 * that exist throughout are all included. @param after an id; only items after it
 */
export async function* pagesOf(
  engine: Engine,
  space: Space,
  after?: string,
): AsyncGenerator<readonly Item[]> {
  let last = after;
  do {
    const scan = await engine.scan(space, { limit: scanPageItemsMax, after: last });
    const page: Item[] = [];
    for await (const item of itemsOf(scan?.chunks ?? [])) page.push(item);
    yield page;
    last = page.length < scanPageItemsMax ? undefined : page.at(-1)?.id;
  } while (last !== undefined);
}
