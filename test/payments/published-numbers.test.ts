import assert from 'node:assert/strict';
import { test } from 'node:test';
import { holdsCardNumber } from '../../src/payments/card-number.ts';
import { allPublishedNumbers, publishedNumbers } from '../support/payments/card-numbers-known.ts';

/** The rule for tokens, and for metadata fields that are named like a card. */
const inTokens = 'any';
/** The rule for idempotency keys and all other metadata. */
const inKeys = 'alone';

for (const { publisher, numbers } of publishedNumbers) {
  test(`finds each test number of ${publisher} in a token`, () => {
    for (const number of numbers) {
      for (const text of [number, `tok_${number}`, `card-${number}-1`, `a${number}b`, `${number}/12/34`]) {
        assert.ok(holdsCardNumber(text, inTokens), text);
      }
      for (const grouped of asPrinted(number)) {
        assert.ok(holdsCardNumber(`tok_${grouped}`, inTokens), grouped);
      }
    }
  });

  test(`finds each grouped test number of ${publisher} in keys and metadata`, () => {
    for (const number of numbers) {
      for (const grouped of asPrinted(number)) {
        for (const text of [grouped, `Paid with ${grouped}.`, `${grouped} 12/34`, `card:${grouped}`]) {
          assert.ok(holdsCardNumber(text, inKeys), text);
        }
      }
    }
  });
}

test('finds bare digits in keys and metadata where they stand alone, and are as many as cards have', () => {
  const isUsual = (number: string) => number.length === 16 || /^3[47]\d{13}$/.test(number);
  const usual = allPublishedNumbers.filter(isUsual);
  assert.ok(usual.length > allPublishedNumbers.length / 2);
  for (const number of usual)
    for (const text of [
      number,
      ` ${number}`,
      `pan=${number}`,
      `my card: ${number}, 12/34`,
      `(${number})`,
      `${number}/2`,
    ])
      assert.ok(holdsCardNumber(text, inKeys), text);
});

test('accepts bare digits that are joined to a word, and those of another length: they may be an order number', () => {
  for (const number of allPublishedNumbers) {
    for (const text of [`order-${number}`, `order_${number}`, `${number}-charge`, `A${number}`, `${number}é`])
      assert.equal(holdsCardNumber(text, inKeys), false, text);
    if (number.length !== 16 && number.length !== 15)
      assert.equal(holdsCardNumber(number, inKeys), false, number);
  }
  // Microseconds and a date with a number of the day have 16 digits too.
  for (let n = 0; n < 1_000; n++)
    for (const honest of [`${1_700_000_000_000_000 + n * 7_919}`, `${2026112300000000 + n}`])
      assert.equal(holdsCardNumber(honest, inKeys), false, honest);
});

test('finds no card number where the check digit is wrong', () => {
  for (const number of allPublishedNumbers) {
    const wrong = number.slice(0, -1) + ((Number(number.at(-1)) + 1) % 10);
    assert.equal(holdsCardNumber(wrong, inTokens), false, wrong);
    // The first 16 digits of a longer number may be a card number themselves.
    const printed = wrong.length <= 16 ? asPrinted(wrong) : [];
    for (const grouped of printed) assert.equal(holdsCardNumber(grouped, inKeys), false, grouped);
  }
});

/** In groups of four, and in the groups that cards of 13, 14, 15 and 19 digits use; with spaces and with hyphens. */
function asPrinted(number: string): string[] {
  const sizes: Readonly<Record<number, readonly number[]>> = {
    13: [4, 3, 3, 3],
    14: [4, 6, 4],
    15: [4, 6, 5],
    19: [6, 13],
  };
  const fours = number.match(/.{1,4}/g) ?? [];
  const own = sizes[number.length];
  const groupings = own === undefined ? [fours] : [fours, cut(number, own)];
  return groupings.flatMap((groups) => [groups.join(' '), groups.join('-')]);
}

function cut(text: string, sizes: readonly number[]): string[] {
  let start = 0;
  return sizes.map((size) => {
    start += size;
    return text.slice(start - size, start);
  });
}
