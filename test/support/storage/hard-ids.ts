import { itemIdBytesMax } from '../../../src/storage/limits.ts';
import { between, pick, type Random } from '../random.ts';

/**
 * Characters that are hard to sort: those that JSON escapes sort differently from their escapes, and the last ones of
 * the basic plane sort before the astral ones in UTF-8 and after them in UTF-16.
 */
export const hardCharacters = [
  ...['\u0000', '\u0001', '\b', '\n', '\u001f', ' ', '!', '"', '#', '/', 'A', '[', '\\', ']', 'u', '\u007f'],
  ...['\u0080', 'é', '\u07ff', '\u0800', '\u2028', '\ud7ff', '\ue000', '\ufeff', '\uffff'],
  ...['\u{10000}', '\u{1f600}', '\u{10ffff}'],
];

/** Makes similar ids for one sequence, so that some are equal and others are neighbors. */
export type IdMaker = () => string;

export function idMaker(random: Random): IdMaker {
  const some = (characters: readonly string[], from: number, to: number) =>
    Array.from({ length: between(random, from, to) }, () => pick(random, characters)).join('');
  const prefix = some(hardCharacters, 1, 3);
  const long = prefix.repeat(Math.floor((itemIdBytesMax - 16) / Buffer.byteLength(prefix)));
  const makers: readonly IdMaker[] = [
    () => `item-${String(between(random, 0, 999)).padStart(4, '0')}`,
    () => some(['a', 'b'], 1, 8),
    () => some(hardCharacters, 1, 3),
    () => prefix.repeat(between(random, 1, 20)) + some(hardCharacters, 0, 1),
    () => long + some(hardCharacters, 1, 2).slice(0, 4),
    () => some(hardCharacters, 1, 1).padEnd(between(random, 1, 200), 'x'),
  ];
  const own = pick(random, makers);
  // Sometimes another kind of id: before the first leaf, after the last one, or between two.
  return () => wellFormed(random() < 0.9 ? own() : pick(random, makers)());
}

/** `slice` may have split a surrogate pair. */
function wellFormed(id: string): string {
  return id.isWellFormed() ? id : id.toWellFormed();
}
