import { clientError } from './error.ts';
import { transportError } from './http.ts';

const quote = 0x22;
const comma = 0x2c;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;
/**
 * How many bytes are parsed into items at once. The items of a larger piece survive a collection of young objects, and
 * then take memory until Node.js collects all objects. With 4 KiB, a read takes less than half the memory that it takes
 * with 64 KiB.
 */
const pieceBytes = 4_096;
const none = -1;

/**
 * Yields the items of a read while it arrives, in small groups. Holds one chunk and one item in memory. Throws if the
 * response ends early.
 */
export async function* itemGroups<Item>(
  body: ReadableStream<Uint8Array>,
  signal?: AbortSignal,
): AsyncGenerator<Item[]> {
  const reader = body.getReader();
  const scanner = new Scanner<Item>();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      for (let at = 0; at < value.length; at += pieceBytes) {
        const items = scanner.take(value.subarray(at, at + pieceBytes));
        if (items.length > 0) yield items;
      }
    }
    if (!scanner.isComplete) throw clientError('network_error');
  } catch (error) {
    throw transportError(error, signal);
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/**
 * Finds the objects in the first array of an envelope. It works on bytes in one buffer, and makes one string of all
 * elements that a piece completes. This is safe because in UTF-8 no byte of a character beyond ASCII equals a quote or
 * a bracket.
 */
class Scanner<Item> {
  readonly #decoder = new TextDecoder('utf-8', { fatal: true });
  /** The part of an incomplete element that has arrived. */
  #buffer = new Uint8Array(2 * pieceBytes);
  #length = 0;
  /** The position in the buffer of the bracket or comma before the next element. */
  #before = none;
  /** 1 if the first byte of the next chunk is escaped. */
  #skipped = 0;
  #depth = 0;
  #place: 'before' | 'inside' | 'behind' = 'before';
  #isInString = false;

  /** Whether the envelope and its array have ended. */
  get isComplete(): boolean {
    return this.#place === 'behind' && this.#depth === 0;
  }

  take(chunk: Uint8Array): Item[] {
    const buffer = this.#append(chunk);
    const length = this.#length + chunk.length;
    let [depth, place, isInString, before] = [this.#depth, this.#place, this.#isInString, this.#before];
    let [first, end] = [before, 0];
    let at = this.#length + this.#skipped;
    for (; at < length; at++) {
      const code = buffer[at];
      if (isInString) {
        if (code === backslash) at++;
        else if (code === quote) isInString = false;
      } else if (code === quote) isInString = true;
      else if (code === openBrace || code === openBracket) {
        depth++;
        if (depth === 2 && place === 'before' && code === openBracket) {
          place = 'inside';
          first = before = at;
        }
      } else if (code === closeBrace || code === closeBracket) {
        depth--;
        if (place === 'inside' && depth === 2) {
          end = at + 1;
          before = none;
        } else if (place === 'inside' && depth === 1) place = 'behind';
      } else if (code === comma && depth === 2 && before === none) {
        before = at;
        if (first === none) first = at;
      }
    }
    [this.#depth, this.#place, this.#isInString] = [depth, place, isInString];
    const items = end > 0 ? this.#parsed(first, end) : [];
    const from = place === 'inside' ? end : length;
    buffer.copyWithin(0, from, length);
    this.#length = length - from;
    this.#skipped = at - length;
    this.#before = Math.max(before - from, none);
    return items;
  }

  /** Appends the chunk to the buffer, which then has room for one more byte. */
  #append(chunk: Uint8Array): Uint8Array {
    const buffer = this.#buffer;
    const bytes = this.#length + chunk.length;
    if (bytes >= buffer.length) {
      this.#buffer = new Uint8Array(2 * bytes);
      this.#buffer.set(buffer);
    }
    this.#buffer.set(chunk, this.#length);
    return this.#buffer;
  }

  /**
   * @param first the position of the bracket or comma before the first element
   * @param end the position after the last element
   */
  #parsed(first: number, end: number): Item[] {
    const buffer = this.#buffer;
    const behind = buffer[end] as number;
    buffer[first] = openBracket;
    buffer[end] = closeBracket;
    try {
      return JSON.parse(this.#decoder.decode(buffer.subarray(first, end + 1))) as Item[];
    } catch (error) {
      throw clientError('invalid_response', error);
    } finally {
      buffer[end] = behind;
    }
  }
}
