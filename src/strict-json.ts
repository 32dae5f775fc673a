import { isUtf8 } from 'node:buffer';
import { ServiceError } from './errors.ts';

/** Deep enough for every accepted document, and far from the recursion limit of any parser. */
const jsonDepthMax = 32;
/** Fields and array elements of one body. The largest accepted document, a batch of 100 writes, has about 500. */
const jsonMembersMax = 5_000;
/** A double represents every decimal number of up to 15 significant digits; the parser may change one of 16. */
const numberSignificantDigitsMax = 15;

/**
 * Parses JSON so that nothing is silently changed or dropped: JSON.parse drops all but the last of equal keys, rounds long
 * numbers, and decodes invalid UTF-8 to U+FFFD (RFC 8259, 4, 6 and 8.1 call these unpredictable).
 *
 * Throws `malformed_json` if the bytes are not JSON in UTF-8. Throws `invalid_request` if the JSON has equal keys, a key
 * `__proto__`, nesting beyond `jsonDepthMax`, more than `jsonMembersMax` members, or a number of more than
 * `numberSignificantDigitsMax` digits.
 */
export function parseStrictJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) {
    throw new ServiceError('malformed_json', { message: 'The body is not valid UTF-8.' });
  }
  checkMembers(bytes, 'The body');
  return parseText(bytes.toString(), 'The body');
}

/** As `parseStrictJson`, for text that was decoded. @param what begins the messages: `The body` */
export function parseStrictText(text: string, what: string): unknown {
  // Each member takes a character.
  if (text.length > jsonMembersMax) checkMembers(Buffer.from(text), what);
  return parseText(text, what);
}

function checkMembers(bytes: Buffer, what: string): void {
  if (!hasTooManyMembers(bytes)) return;
  const message = `${what} has more than ${jsonMembersMax.toLocaleString('en')} fields and array elements.`;
  throw new ServiceError('invalid_request', { message });
}

function parseText(text: string, what: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The message of the parser quotes the body, which may contain a card number or a secret.
    throw new ServiceError('malformed_json');
  }
  new TokenWalk(text, what).check();
  return value;
}

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const minus = 0x2d;
const zero = 0x30;
const upperE = 0x45;
const lowerE = 0x65;

/**
 * Checked before parsing: a megabyte of short fields takes JSON.parse a hundred times as long as one of text. Each member is
 * behind an opening bracket or a comma outside of strings.
 */
function hasTooManyMembers(bytes: Buffer): boolean {
  let members = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === quote) at = endOfString(bytes, at);
    else if (byte === comma || byte === openBrace || byte === openBracket) members++;
    if (members > jsonMembersMax) return true;
  }
  return false;
}

/** @param at of the opening quote @returns the place of the closing quote, or the length if there is none */
function endOfString(bytes: Buffer, at: number): number {
  for (let end = at + 1; end < bytes.length; end++) {
    if (bytes[end] === quote) return end;
    if (bytes[end] === backslash) end++;
  }
  return bytes.length;
}

interface Opened {
  /** The keys of an object that were seen so far; null for an array. */
  readonly keys: Set<string> | null;
  /** The key of the value that is being walked. */
  key: string | undefined;
}

/** One pass over text that JSON.parse has accepted, so that its grammar is valid. */
class TokenWalk {
  readonly #text: string;
  readonly #what: string;
  #at = 0;
  /** The objects and arrays around the current place, outermost first. */
  readonly #open: Opened[] = [];
  #keyIsNext = false;

  /** @param what begins the messages */
  constructor(text: string, what: string) {
    this.#text = text;
    this.#what = what;
  }

  check(): void {
    while (this.#at < this.#text.length) {
      const character = this.#text.charCodeAt(this.#at);
      if (character === quote) this.#string();
      else if (character === minus || isDigit(character)) this.#number();
      else this.#punctuation(character);
    }
  }

  #punctuation(character: number): void {
    this.#at++;
    if (character === openBrace || character === openBracket) {
      this.#open.push({ keys: character === openBrace ? new Set() : null, key: undefined });
      if (this.#open.length > jsonDepthMax) {
        throw this.#error(`is nested deeper than ${jsonDepthMax} levels.`);
      }
      this.#keyIsNext = character === openBrace;
    } else if (character === closeBrace || character === closeBracket) {
      this.#open.pop();
      this.#keyIsNext = false;
    } else if (character === comma) {
      this.#keyIsNext = this.#open.at(-1)?.keys !== null;
    }
  }

  #string(): void {
    const start = this.#at;
    let escaped = false;
    for (;;) {
      const character = this.#text.charCodeAt(++this.#at);
      if (character === quote) break;
      if (character === backslash) {
        escaped = true;
        this.#at++;
      }
    }
    this.#at++;
    if (!this.#keyIsNext) return;
    this.#keyIsNext = false;
    const key = escaped
      ? (JSON.parse(this.#text.slice(start, this.#at)) as string)
      : this.#text.slice(start + 1, this.#at - 1);
    this.#key(key);
  }

  #key(key: string): void {
    const object = this.#open.at(-1);
    if (!object?.keys) return;
    object.key = key;
    if (key === '__proto__') throw this.#error('has a field "__proto__".');
    if (object.keys.has(key)) throw this.#error('has the same field twice in one object.');
    object.keys.add(key);
  }

  #number(): void {
    const start = this.#at;
    while (isNumberCharacter(this.#text.charCodeAt(this.#at))) this.#at++;
    const literal = this.#text.slice(start, this.#at);
    const digits = significantDigits(literal);
    const value = Number(literal);
    if (digits > numberSignificantDigitsMax || !Number.isFinite(value) || (value === 0 && digits > 0)) {
      throw this.#error('has a number that cannot be parsed without rounding.');
    }
  }

  /** The error names the field by its path, unless a key on the path is not a plain name. */
  #error(problem: string): ServiceError {
    const message = `${this.#what} ${problem}`;
    const path = this.#open.map(({ key }) => key).filter((key) => key !== undefined);
    const param = path.length > 0 && path.every(isPlainName) ? path.join('.') : undefined;
    return new ServiceError('invalid_request', { message, param });
  }
}

/** Whether the name of a field, which the caller wrote, may be repeated in a response. */
export function isPlainName(name: string): boolean {
  return /^[A-Za-z_][\w-]{0,63}$/.test(name);
}

/** Significant digits: without sign, exponent, decimal point, leading zeros and trailing zeros. One pass. */
function significantDigits(literal: string): number {
  let digits = 0;
  let trailingZeros = 0;
  for (let at = 0; at < literal.length; at++) {
    const character = literal.charCodeAt(at);
    if (character === lowerE || character === upperE) break;
    if (!isDigit(character) || (character === zero && digits === 0)) continue;
    digits++;
    trailingZeros = character === zero ? trailingZeros + 1 : 0;
  }
  return digits - trailingZeros;
}

function isDigit(character: number): boolean {
  return character >= 0x30 && character <= 0x39;
}

function isNumberCharacter(character: number): boolean {
  return (
    isDigit(character) ||
    character === minus ||
    character === 0x2b || // +
    character === 0x2e || // .
    character === lowerE ||
    character === upperE
  );
}
