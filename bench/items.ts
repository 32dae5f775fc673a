import { randomInt } from 'node:crypto';

/**
 * The items that all cases are made of: 46 bytes each in an answer, the comma counted, under ids that come in
 * random order. Item number `index` always has the same id, so that the load (`requests.lua`, which holds the same
 * arithmetic) can name items that the loader has made, and new ones that nobody has.
 */
export interface BenchItem {
  readonly id: string;
  readonly name: string;
}

const half = 2 ** 24;
/** Odd, of 24 bits, with no pattern in their digits. */
const multipliers = [0x9e3779, 0xc2b2af, 0x85ebcb, 0x27d4eb];

/** Items of one stream differ from those of any other; stream 0 is what tables are filled with. */
export const streamItems = half;
let streamsTaken = 0;

/** A stream of new items that nothing in this run has used. */
export function takeStream(): number {
  streamsTaken += 1;
  return streamsTaken;
}

/**
 * The id as a number of 48 bits: a Feistel network, so that ids are as good as random and yet never meet. Every
 * product stays below 2^53, where doubles, in Lua as here, are exact.
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

/** What the loader stores under an id; updates write another version, of the same length. */
export function nameText(version: string): string {
  return `an-item-${version}`;
}
export const firstVersion = '000000';

export function itemAt(index: number): BenchItem {
  return { id: idText(idNumber(index)), name: nameText(firstVersion) };
}

/** An item of the first `count` of stream 0. */
export function anyId(count: number): string {
  return itemAt(randomInt(count)).id;
}

const envelopeBytes = '{"statusCode":200,"body":[]}'.length;
const answerBytesPerItem = JSON.stringify(itemAt(0)).length + 1;

/** The bytes of the items in an answer, as they stand in it. */
export function itemsBytes(count: number): number {
  return count * answerBytesPerItem - 1;
}

/** How many items an answer of so many bytes holds; throws when it is no whole number of them. */
export function itemsIn(answerBytes: number): number {
  const count = (answerBytes - envelopeBytes + 1) / answerBytesPerItem;
  if (!Number.isInteger(count))
    throw new Error(`an answer of ${answerBytes} bytes does not end with an item`);
  return count;
}
