import type { Chunks } from './engine.ts';

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
