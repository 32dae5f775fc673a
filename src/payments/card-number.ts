import { ServiceError } from '../errors.ts';
import { type CardNetwork, cardNetworks, type Prefix } from './card-networks.ts';

const cardDigitsMin = 13;
/** The maximum of ISO/IEC 7812-1. */
const cardDigitsMax = 19;

/** The usual groupings of card numbers, as the number of digits in each group. */
const cardGroupings: ReadonlySet<string> = new Set([
  '4-4-4-1', // Visa, 13 digits
  '4-3-3-3', // Visa, 13 digits
  '4-4-4-2', // Diners Club
  '4-6-4', // Diners Club
  '4-4-4-3', // American Express
  '4-6-5', // American Express
  '4-5-6', // UATP
  '4-4-4-4',
  '4-4-4-4-1',
  '4-4-4-4-2',
  '4-4-4-4-3',
  '6-13', // UnionPay, 19 digits
]);
const startsOfGroupings: ReadonlySet<string> = new Set(
  [...cardGroupings].flatMap((grouping) =>
    grouping.split('-').map((_, last, sizes) => sizes.slice(0, last + 1).join('-')),
  ),
);

/** UUIDs are the most common idempotency keys. Their groups of digits are not card numbers. */
const uuid = /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi;

/** Names of metadata fields that suggest a card number. */
const cardFieldName =
  /^(.*[_.-])?(cards?|cc|pan|credit|debit)([_.-]?(num(ber)?|no|nr|card))?([_.-]?(num(ber)?|no|nr))?$/i;

export function isNamedLikeCard(field: string): boolean {
  return cardFieldName.test(field);
}

/**
 * Which digits count as a card number. Both modes find printed groups. `any` also finds every run of digits. `alone`
 * finds only a run that is a word by itself and has the length of nearly all cards in use. It is for texts that often
 * contain timestamps, product codes and other identifiers.
 */
export type DigitRuns = 'any' | 'alone';

/** Letters and these characters join digits to an identifier, such as `order-4111…`. */
const joining = /[\p{L}_-]/u;
const usualDigits = 16;
/** American Express. Numbers of the other networks with 15 digits begin like harmless identifiers. */
const fifteenDigits = /^3[47]\d{13}$/;

/**
 * Whether a text contains what looks like a card number: the prefix and length of a known network (`card-networks.ts`)
 * and a valid Luhn check digit.
 *
 * Takes linear time: a candidate begins where a group begins, and has at most `cardDigitsMax` digits.
 */
export function holdsCardNumber(text: string, digitRuns: DigitRuns): boolean {
  const searched = text.replace(uuid, '|');
  for (let at = 0; at < searched.length; at++) {
    const beginsGroup = isDigit(searched, at) && !isDigit(searched, at - 1);
    if (beginsGroup && beginsCardNumber(searched, at, digitRuns)) return true;
  }
  return false;
}

/** Reads from the first digit of a group and checks the number at each end of a group. */
function beginsCardNumber(text: string, start: number, digitRuns: DigitRuns): boolean {
  const luhn = new LuhnSum();
  let grouping = '';
  let groupStart = start;
  for (let at = start; isDigit(text, at) && luhn.length < cardDigitsMax; at++) {
    luhn.add(text.charCodeAt(at) - 0x30);
    if (isDigit(text, at + 1)) continue;
    grouping += `${grouping === '' ? '' : '-'}${at + 1 - groupStart}`;
    const isWritten = grouping.includes('-')
      ? cardGroupings.has(grouping)
      : digitRuns === 'any' || isAlone(text, start, at + 1);
    if (isWritten && luhn.isValid() && isOfKnownNetwork(text.slice(start, at + 1))) return true;
    if (!startsOfGroupings.has(grouping) || !isSeparator(text, at + 1)) return false;
    at++;
    groupStart = at + 1;
  }
  return false;
}

/** Whether the digits from `start` to `end` are a separate word of a usual length. */
function isAlone(text: string, start: number, end: number): boolean {
  if (joining.test(text[start - 1] ?? '') || joining.test(text[end] ?? '')) return false;
  return end - start === usualDigits || fifteenDigits.test(text.slice(start, end));
}

function isOfKnownNetwork(number: string): boolean {
  const digits = number.replace(/[ -]/g, '');
  return cardNetworks.some(
    ({ lengths, prefixes }: CardNetwork) =>
      lengths.includes(digits.length) && prefixes.some((prefix) => beginsWith(digits, prefix)),
  );
}

function beginsWith(digits: string, prefix: Prefix): boolean {
  if (typeof prefix === 'string') return digits.startsWith(prefix);
  const [from, to] = prefix;
  const start = digits.slice(0, from.length);
  return start >= from && start <= to;
}

/**
 * The check digit of ISO/IEC 7812-1, annex B. Which digits are doubled depends on the length, which is not known yet,
 * so both sums are kept.
 */
class LuhnSum {
  length = 0;
  /** The sums with the digits at even places from the left doubled, and with those at odd places. */
  #even = 0;
  #odd = 0;

  add(digit: number): void {
    const doubled = digit > 4 ? digit * 2 - 9 : digit * 2;
    const isEven = this.length % 2 === 0;
    this.#even += isEven ? doubled : digit;
    this.#odd += isEven ? digit : doubled;
    this.length++;
  }

  isValid(): boolean {
    if (this.length < cardDigitsMin) return false;
    return (this.length % 2 === 0 ? this.#even : this.#odd) % 10 === 0;
  }
}

function isDigit(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 0x30 && code <= 0x39;
}

function isSeparator(text: string, at: number): boolean {
  return text[at] === ' ' || text[at] === '-';
}

/** Throws `invalid_request` if a text of a request contains what looks like a card number. */
export function rejectCardNumber(param: string, text: string, digitRuns: DigitRuns): void {
  if (!holdsCardNumber(text, digitRuns)) return;
  throw new ServiceError('invalid_request', {
    param,
    message:
      `${param} looks like a card number. Never send card numbers here: let the processor turn the card into a token ` +
      'in the browser. If it is another number, join it to a word: "order-…".',
  });
}
