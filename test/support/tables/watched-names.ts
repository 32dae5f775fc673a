import { between, pick, randomFrom } from '../random.ts';

/**
 * The name that write number `number` gives an item. It begins with the number and depends only on id and number, so
 * that every name that is read can be compared with the one that was written, byte for byte.
 */
export function nameOf(id: string, number: number): string {
  const random = randomFrom(hashOf(`${id} ${number}`));
  const unit = pick(random, units);
  const [from, to] = pick(random, lengths);
  return `${number}:${unit.repeat(Math.ceil(between(random, from, to) / unit.length))}`;
}

/** The number of the write that gave this name, or NaN if no write did. */
export function numberIn(id: string, name: string): number {
  const number = Number.parseInt(name, 10);
  return name === nameOf(id, number) ? number : Number.NaN;
}

/** Texts that JSON escapes, and characters of one to four bytes. */
const units = ['x', 'abcdefgh', '"', '\\', '\n\u0001', 'é', '\u20ac', '\u{1f4d6}', '","name":"', '},{"id":"'];
/** Mostly small items, some longer than a disk page, a few as long as many pages. */
const lengths: readonly (readonly [number, number])[] = [
  ...Array<[number, number]>(24).fill([0, 200]),
  ...Array<[number, number]>(5).fill([200, 5_000]),
  [5_000, 40_000],
];

/** FNV-1a. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}
