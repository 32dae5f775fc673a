import type { Chunks, Engine, Space } from './engine.ts';
import { scanPageItemsMax } from './limits.ts';

/** An item as the JSON text that answers carry. */
export function itemText(id: string, value: string): string {
  return `{"id":${JSON.stringify(id)},"name":${JSON.stringify(value)}}`;
}

export interface Item {
  readonly id: string;
  readonly name: string;
}

/** The items of a scan as objects, for the spaces that the service itself reads. */
export async function* itemsOf(chunks: Chunks): AsyncGenerator<Item> {
  for await (const chunk of chunks) {
    const text = chunk.toString();
    yield* JSON.parse(`[${text.startsWith(',') ? text.slice(1) : text}]`) as Item[];
  }
}

/**
 * The items of a space in pages, each as of a moment of its own, so that going through a large space holds no snapshot
 * for long; what was there all the while is among them. @param after an id; only items behind it
 */
export async function* pagesOf(
  engine: Engine,
  space: Space,
  after?: string,
): AsyncGenerator<readonly Item[]> {
  let last = after;
  do {
    const scan = await engine.scan(space, {
      limit: scanPageItemsMax,
      ...(last === undefined ? {} : { after: last }),
    });
    const page: Item[] = [];
    for await (const item of itemsOf(scan?.chunks ?? [])) page.push(item);
    yield page;
    last = page.length < scanPageItemsMax ? undefined : page.at(-1)?.id;
  } while (last !== undefined);
}
