import assert from 'node:assert/strict';
import { test } from 'node:test';
import { holdsCardNumber } from '../../src/payments/card-number.ts';
import { between, randomFrom, seedOf } from '../support/random.ts';
import { allPublishedNumbers, publishedNumbers } from './card-numbers-known.ts';
import {
  ean,
  type Identifier,
  orderNumber,
  phoneNumber,
  snowflake,
  timestamp,
  ulid,
  uuid,
} from './identifiers.ts';

/** As tokens are read, and metadata fields that are named like a card. */
const inTokens = 'any';
/** As idempotency keys and all other metadata are read. */
const inKeys = 'grouped';

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

  test(`finds each test number of ${publisher} in keys and metadata, where it is grouped`, () => {
    for (const number of numbers) {
      for (const grouped of asPrinted(number)) {
        for (const text of [grouped, `Paid with ${grouped}.`, `${grouped} 12/34`, `card:${grouped}`]) {
          assert.ok(holdsCardNumber(text, inKeys), text);
        }
      }
    }
  });
}

test('leaves an ungrouped number alone in keys and metadata, where it may be an order number', () => {
  for (const number of allPublishedNumbers) {
    for (const text of [number, `order-${number}`, `${number}-charge`]) {
      assert.equal(holdsCardNumber(text, inKeys), false, text);
    }
  }
});

test('finds no card number where the check digit is wrong', () => {
  for (const number of allPublishedNumbers) {
    const wrong = number.slice(0, -1) + ((Number(number.at(-1)) + 1) % 10);
    assert.equal(holdsCardNumber(wrong, inTokens), false, wrong);
    // The first 16 digits of a longer number may be one themselves.
    const printed = wrong.length <= 16 ? asPrinted(wrong) : [];
    for (const grouped of printed) assert.equal(holdsCardNumber(grouped, inKeys), false, grouped);
  }
});

const identifiers: Readonly<Record<string, Identifier>> = {
  'time stamps in milliseconds': timestamp,
  'EAN-13 codes': ean,
  UUIDs: uuid,
  ULIDs: ulid,
  'order numbers': orderNumber,
  'Snowflake ids': snowflake,
  'phone numbers': phoneNumber,
};
const textsPerKind = 1_000_000;
const falseAlarmsMax = textsPerKind / 1_000;

for (const [kind, identifier] of Object.entries(identifiers)) {
  test(`takes at most one in 1,000 ${kind} in keys and metadata for a card number`, (t) => {
    const random = randomFrom(seedOf(t));
    let inKeysFound = 0;
    let inTokensFound = 0;
    for (let made = 0; made < textsPerKind; made++) {
      const text = identifier(random);
      if (holdsCardNumber(text, inKeys)) inKeysFound++;
      if (holdsCardNumber(text, inTokens)) inTokensFound++;
    }
    t.diagnostic(`${kind}, of ${textsPerKind}: ${inKeysFound} in keys, ${inTokensFound} in tokens`);
    assert.ok(inKeysFound <= falseAlarmsMax, `${inKeysFound} of ${textsPerKind}`);
  });
}

test('takes no time stamp in milliseconds for a card number, not even in a token', (t) => {
  const random = randomFrom(seedOf(t));
  for (let made = 0; made < 100_000; made++) {
    const milliseconds = between(random, Date.UTC(2015, 0, 1), Date.UTC(2036, 0, 1) - 1);
    for (const text of [`${milliseconds}`, `tok_${milliseconds}`, `${milliseconds}-charge`]) {
      assert.equal(holdsCardNumber(text, inTokens), false, text);
    }
  }
});

/** In fours, and as cards of 13, 14, 15 and 19 digits also have it; with spaces and with hyphens. */
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
