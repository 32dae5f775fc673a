import assert from 'node:assert/strict';
import { test } from 'node:test';
import { holdsCardNumber } from '../../src/payments/card-number.ts';
import {
  ean,
  type Identifier,
  orderNumber,
  phoneNumber,
  snowflake,
  timestamp,
  ulid,
  uuid,
} from '../support/payments/identifiers.ts';
import { between, randomFrom, seedOf } from '../support/random.ts';

/** The rule for tokens, and for metadata fields that are named like a card. */
const inTokens = 'any';
/** The rule for idempotency keys and all other metadata. */
const inKeys = 'alone';

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
  test(`mistakes at most one in 1,000 ${kind} in keys and metadata for a card number`, (t) => {
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

test('mistakes no timestamp in milliseconds for a card number, not even in a token', (t) => {
  const random = randomFrom(seedOf(t));
  for (let made = 0; made < 100_000; made++) {
    const milliseconds = between(random, Date.UTC(2015, 0, 1), Date.UTC(2036, 0, 1) - 1);
    for (const text of [`${milliseconds}`, `tok_${milliseconds}`, `${milliseconds}-charge`]) {
      assert.equal(holdsCardNumber(text, inTokens), false, text);
    }
  }
});
