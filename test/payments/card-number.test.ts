import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { holdsCardNumber } from '../../src/payments/card-number.ts';

/** Test numbers of the networks that Stripe and Adyen publish; none of them is a card. */
const testNumbers: Readonly<Record<string, readonly string[]>> = {
  Visa: ['4242424242424242', '4000056655665556', '4111111111111111'],
  'Visa of 13 digits': ['4222222222222'],
  Mastercard: ['5555555555554444', '2223003122003222', '5200828282828210', '5105105105105100'],
  'American Express': ['378282246310005', '371449635398431'],
  Discover: ['6011111111111117', '6011000990139424', '6011981111111113'],
  'Diners Club': ['3056930009020004', '36227206271667'],
  JCB: ['3566002020360505'],
  UnionPay: ['6200000000000005', '6205500000000000004'],
  BCcard: ['6555900000604105'],
  Maestro: ['6759649826438453'],
};
const allNumbers = Object.values(testNumbers).flat();

for (const [network, numbers] of Object.entries(testNumbers)) {
  test(`finds a card number of ${network}`, () => {
    for (const number of numbers) {
      const groups = number.match(/.{1,4}/g) ?? [];
      assert.ok(holdsCardNumber(number, 'any'), number);
      assert.ok(holdsCardNumber(groups.join(' '), 'any'), `${number} in groups`);
      assert.ok(holdsCardNumber(groups.join('-'), 'any'), `${number} with hyphens`);
      for (const text of [
        `order-${number}`,
        `${number}/2`,
        `tok_${number}`,
        `a${number}b`,
        `pay ${groups.join(' ')}.`,
      ]) {
        assert.ok(holdsCardNumber(text, 'any'), text);
      }
    }
  });
}

test('finds a card number that is followed by its security code or expiry date', () => {
  for (const number of allNumbers) {
    for (const text of [`${number} 123`, `${number}-123`, `${number} 12/34`, `123 ${number}`]) {
      assert.ok(holdsCardNumber(text, 'any'), text);
    }
  }
});

test('finds no card number where the check digit is wrong', () => {
  for (const number of allNumbers) {
    const last = Number(number.at(-1));
    for (const wrong of [1, 3, 9].map((more) => (last + more) % 10)) {
      assert.equal(holdsCardNumber(`${number.slice(0, -1)}${wrong}`, 'any'), false);
      assert.equal(holdsCardNumber(`order-${number.slice(0, -1)}${wrong}`, 'any'), false);
    }
  }
});

test('mistakes no timestamp in milliseconds within a longer key for a card number', () => {
  const from = Date.UTC(2020, 0, 1);
  fc.assert(
    fc.property(fc.integer({ min: from, max: Date.UTC(2033, 4, 18) }), (milliseconds) => {
      assert.equal(holdsCardNumber(`order-${milliseconds}`, 'any'), false);
      assert.equal(holdsCardNumber(`${milliseconds}-charge`, 'any'), false);
    }),
    { numRuns: 2_000 },
  );
});

test('mistakes no UUID for a card number: they are the most common idempotency keys', () => {
  // Each of these random UUIDs (version 4) has 13 or more digits in a row, with a valid check digit.
  for (const key of [
    '9749475e-c278-4324-8307-0272aa2d1109',
    '4227e185-0f82-4572-8359-231217f8c093',
    '8f73753e-d291-4671-8111-64da090a0675',
    'bd697c7b-2a9e-4972-8285-232236c0d60e',
    '16869c9a-2dc2-4d43-9891-1250045d515d',
  ]) {
    assert.equal(holdsCardNumber(key, 'any'), false, key);
  }
});

test('fewer than 13 or more than 19 digits are not a card number', () => {
  for (const text of ['', '0', '424242424242', '42424242424242424242', 'order-000000000000', 'tok_visa']) {
    assert.equal(holdsCardNumber(text, 'any'), false, text);
  }
});
