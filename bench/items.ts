import { randomInt } from 'node:crypto';

/**
 * The items of all cases: each has 46 bytes in a response, including the comma, and an id in random order. Item number
 * `index` always has the same id, so that the load (`requests.lua`, with the same arithmetic) can name items that
 * `fill.ts` has created, and new ones.
 */
export interface BenchItem {
  readonly id: string;
  readonly name: string;
}

const half = 2 ** 24;
/** Odd numbers of 24 bits without a pattern in their digits. */
const multipliers = [0x9e3779, 0xc2b2af, 0x85ebcb, 0x27d4eb];

/** Items of one stream differ from those of any other; stream 0 fills the tables. */
export const streamItems = half;
let streamsTaken = 0;

/** Returns a stream of items that this run has not used yet. */
export function takeStream(): number {
  streamsTaken += 1;
  return streamsTaken;
}

/**
 * The id as a number of 48 bits. A Feistel network makes the ids look random without duplicates. Every product stays
 * below 2^53, where doubles are exact, in Lua as well as here.
 */
export function idNumber(index: number): number {
  let left = Math.floor(index / half);
  let right = index % half;
  for (const multiplier of multipliers) {
    const mixed = Math.floor(((right * multiplier + multiplier) % 2 ** 40) / 2 ** 16);
    [left, right] = [right, left ^ mixed];
  }
  return left * half + right;
}

export function idText(number: number): string {
  return number.toString(16).padStart(12, '0');
}

/** The name that `fill.ts` stores under an id; updates write another version of the same length. */
export function nameText(version: string): string {
  return `an-item-${version}`;
}
export const firstVersion = '000000';

export function itemAt(index: number): BenchItem {
  return { id: idText(idNumber(index)), name: nameText(firstVersion) };
}

/** The id of a random item among the first `count` of stream 0. */
export function anyId(count: number): string {
  return itemAt(randomInt(count)).id;
}

const envelopeBytes = '{"statusCode":200,"body":[]}'.length;
const bytesPerItem = JSON.stringify(itemAt(0)).length + 1;

/** The number of bytes of so many items in a response. */
export function itemsBytes(count: number): number {
  return count * bytesPerItem - 1;
}

/** The number of items in a response of so many bytes; throws when it is not a whole number. */
export function itemsIn(responseBytes: number): number {
  const count = (responseBytes - envelopeBytes + 1) / bytesPerItem;
  if (!Number.isInteger(count))
    throw new Error(`a response of ${responseBytes} bytes does not end with an item`);
  return count;
}
