import { clientError } from './error.ts';
import { transportError } from './http.ts';

const quote = 0x22;
const backslash = 0x5c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;

/**
 * Yields the items of a read while it arrives, in groups: those that a chunk completes. Holds one chunk and one item in
 * memory. Throws if the response ends early.
 */
export async function* itemGroups<Item>(
  body: ReadableStream<Uint8Array>,
  signal?: AbortSignal,
): AsyncGenerator<Item[]> {
  const reader = body.getReader();
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const scanner = new Scanner<Item>();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      const items = scanner.take(decoder.decode(value, { stream: !done }));
      if (items.length > 0) yield items;
      if (done) break;
    }
    if (!scanner.isComplete) throw clientError('network_error');
  } catch (error) {
    throw transportError(error, signal);
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** Finds the elements of the first array in an envelope: the objects below the envelope and the array. */
class Scanner<Item> {
  /** Whether the envelope and its array have ended. */
  isComplete = false;
  /** What has arrived of an element that is not complete. */
  #rest = '';
  #depth = 0;
  #place: 'before' | 'inside' | 'behind' = 'before';
  #isInString = false;
  #isEscaped = false;

  take(chunk: string): Item[] {
    const text = this.#rest + chunk;
    let [depth, place, isInString, isEscaped] = [this.#depth, this.#place, this.#isInString, this.#isEscaped];
    let from = 0;
    let to = 0;
    for (let at = this.#rest.length; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (isInString) {
        if (isEscaped) isEscaped = false;
        else if (code === backslash) isEscaped = true;
        else if (code === quote) isInString = false;
      } else if (code === quote) isInString = true;
      else if (code === openBrace || code === openBracket) {
        depth++;
        if (depth === 2 && place === 'before' && code === openBracket) {
          place = 'inside';
          from = to = at + 1;
        }
      } else if (code === closeBrace || code === closeBracket) {
        depth--;
        if (place === 'inside' && depth === 2) to = at + 1;
        else if (place === 'inside' && depth === 1) place = 'behind';
        else if (depth === 0) this.isComplete = place === 'behind';
      }
    }
    [this.#depth, this.#place, this.#isInString, this.#isEscaped] = [depth, place, isInString, isEscaped];
    this.#rest = place === 'inside' ? text.slice(to) : '';
    return to > from ? parsedList(text.slice(from, to)) : [];
  }
}

/** @param text objects between commas, maybe with a comma before the first one */
function parsedList<Item>(text: string): Item[] {
  try {
    return JSON.parse(`[${text.replace(/^\s*,/, '')}]`) as Item[];
  } catch (error) {
    throw clientError('invalid_response', error);
  }
}
