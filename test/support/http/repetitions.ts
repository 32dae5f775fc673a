import { between, pick, type Random } from '../random.ts';

/** A text of `prefix`, `piece` as often as it fits, and `suffix`. */
export interface Repetition {
  readonly prefix: string;
  /** Each `#` becomes a number that grows by `stride`, so that names and values differ. */
  readonly piece: string;
  readonly suffix: string;
  readonly stride?: number;
}

/** Texts on which checks are often slow: digits, separators, brackets, escapes, incomplete matches. */
const pieces = [
  ...['0', '1', '9', '10', '1 ', '1-', '1.', '0.', '1e', '4 2', '-', '- ', '.', '..', '../../http', 'e1'],
  ...[
    'a',
    'a ',
    'a@',
    'a.',
    'aA',
    ' ',
    '  ',
    '\t',
    '\t ',
    '/',
    '//',
    '/a',
    ':',
    '::',
    '0:',
    '%',
    '%41',
    '%2e',
  ],
  ...[
    ',',
    ', ',
    ',,',
    ';',
    '; ',
    ';q=',
    'q=0,',
    '=',
    'a=',
    'a=;',
    '&',
    'a&',
    '"',
    '""',
    '"a",',
    'W/"',
    '\\',
    '\\"',
  ],
  ...['[', ']', '[]', '{', '}', '[{', '{}', '(', '*', '+', '_', '~', '!', '?', '#', '[#],'],
  ...['0123abcd-', '12345678-1234-', 'gzip,', '*;q=0,', '127.0.0.1, ', '::ffff:', 'Bearer ', 'charset='],
];
/** Pieces only for bodies, because a header cannot have them. */
const bodyPieces = [
  '\\u00e9',
  '\\ud83d',
  '\\u0000',
  'é',
  '😀',
  '\u2028',
  '\\n',
  '"#":1,',
  '"a#":{},',
  '#,',
  '1,',
  '[1],',
];
const ends = [
  '',
  '',
  '0',
  '1',
  'a',
  '!',
  ' ',
  '"',
  '\\',
  '-',
  '.',
  ',',
  ';',
  '=',
  '/',
  ':',
  '%',
  '@',
  ']',
  '}',
  'W/"',
  'Bearer ',
];
const strides = [1, 1, 65_536, 16_777_216];

/** Tried first, with every seed: texts that once froze the service. */
const known: readonly Repetition[] = [
  { prefix: '1', piece: '0', suffix: '1' },
  { prefix: '0.', piece: '0', suffix: '1' },
  { prefix: '', piece: '1 ', suffix: '' },
  { prefix: '', piece: '1', suffix: '!' },
  { prefix: '', piece: ' ', suffix: '!' },
  { prefix: '"', piece: ' ', suffix: '!' },
];

export function lengthOf(text: string): number {
  return Buffer.byteLength(text);
}

/** The text with about this number of bytes. */
export function textOf({ prefix, piece, suffix, stride = 1 }: Repetition, bytes: number): string {
  const room = Math.max(0, bytes - lengthOf(prefix) - lengthOf(suffix));
  if (!piece.includes('#')) return prefix + piece.repeat(Math.floor(room / lengthOf(piece))) + suffix;
  const parts: string[] = [];
  for (let length = 0, n = 1; length < room; n++) {
    const part = piece.replaceAll('#', String((n * stride) % 4_294_967_295));
    parts.push(part);
    length += part.length;
  }
  return prefix + parts.join('') + suffix;
}

/** Searches for the text on which a check takes longest: first random texts, then changes of the slowest ones. */
export class WorstTexts {
  readonly #random: Random;
  readonly #pieces: readonly string[];
  readonly #waiting: Repetition[];
  #found: { readonly text: Repetition; readonly ms: number }[] = [];

  constructor(random: Random, isBody: boolean) {
    this.#random = random;
    this.#pieces = isBody ? [...pieces, ...bodyPieces] : pieces;
    this.#waiting = this.#pieces.map((piece) => ({ prefix: '', piece, suffix: '' }));
    this.#waiting.push(...known.toReversed());
  }

  next(): Repetition {
    const waiting = this.#waiting.pop();
    if (waiting !== undefined) return waiting;
    const climbs = this.#random() < 0.7;
    return climbs ? this.#changed(pick(this.#random, this.#found).text) : this.#any();
  }

  note(text: Repetition, ms: number): void {
    this.#found.push({ text, ms });
    this.#found.sort((one, other) => other.ms - one.ms);
    this.#found = this.#found.slice(0, 8);
  }

  /** The slowest texts, in descending order of time. */
  worst(count: number): Repetition[] {
    return this.#found.slice(0, count).map(({ text }) => text);
  }

  #any(): Repetition {
    const random = this.#random;
    const longer = () =>
      Array.from({ length: between(random, 1, 3) }, () => pick(random, this.#pieces)).join('');
    return {
      prefix: pick(random, ends),
      piece: longer(),
      suffix: pick(random, ends),
      stride: pick(random, strides),
    };
  }

  #changed(text: Repetition): Repetition {
    const { prefix, piece, suffix, stride } = this.#any();
    switch (between(this.#random, 0, 4)) {
      case 0:
        return { ...text, prefix };
      case 1:
        return { ...text, suffix };
      case 2:
        return { ...text, prefix, suffix };
      case 3:
        return { ...text, piece: text.piece + pick(this.#random, this.#pieces) };
      default:
        return { ...text, piece, ...(stride === undefined ? {} : { stride }) };
    }
  }
}
