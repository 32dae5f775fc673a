import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { currencyCodes, currencyExponent } from '../../src/currencies.ts';
import { minorUnits } from '../../src/payments/charge/request.ts';
import { amountMax } from '../../src/payments/limits.ts';

const exponents = [0, 2, 3, 4];

/** The same amount computed in integers, without rounding. */
function decimalOf(minor: bigint, exponent: number): number {
  const digits = String(minor).padStart(exponent + 1, '0');
  const place = digits.length - exponent;
  return Number(exponent === 0 ? digits : `${digits.slice(0, place)}.${digits.slice(place)}`);
}

for (const exponent of exponents) {
  test(`converts every amount with ${exponent} decimal places to the smallest unit, exactly`, () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 999_999_999_999_999n }), (minor) => {
        assert.equal(minorUnits(decimalOf(minor, exponent), exponent), Number(minor));
      }),
      { numRuns: 2_000 },
    );
  });

  test(`rejects an amount with more than ${exponent} decimal places for a currency that has ${exponent}`, () => {
    const tooFine = fc
      .tuple(fc.bigInt({ min: 0n, max: 99_999_999_999n }), fc.integer({ min: 1, max: 4 }))
      .filter(([minor]) => minor % 10n !== 0n)
      .map(([minor, more]) => decimalOf(minor, exponent + more));
    fc.assert(fc.property(tooFine, (amount) => assert.equal(minorUnits(amount, exponent), Number.NaN)));
  });

  test(`converts no allowed amount to a different one (${exponent} decimal places)`, () => {
    fc.assert(
      fc.property(fc.double(), (amount) => {
        const minor = minorUnits(amount, exponent);
        if (Number.isInteger(minor) && Math.abs(minor) <= amountMax) {
          assert.equal(decimalOf(BigInt(Math.abs(minor)), exponent), Math.abs(amount));
          assert.ok(amount >= 0 === minor >= 0);
        }
      }),
      { numRuns: 5_000 },
    );
  });
}

test('is exact for decimals that binary numbers cannot represent', () => {
  assert.equal(minorUnits(1.1, 2), 110);
  assert.equal(minorUnits(19.99, 2), 1_999);
  assert.equal(minorUnits(4.35, 2), 435);
  assert.equal(minorUnits(1.005, 3), 1_005);
  assert.equal(minorUnits(0.1 + 0.2, 2), Number.NaN, 'the sum is not 0.3');
  for (const amount of [1e21, 1e-7, Number.NaN, Number.POSITIVE_INFINITY]) {
    assert.ok(!Number.isInteger(minorUnits(amount, 2)));
  }
});

/** Active in ISO 4217 and missing in the CLDR, which has only the other Venezuelan bolívar (VES). */
const unknownToIntl = ['VED'];

test('Intl knows every currency', () => {
  const known = new Set([...Intl.supportedValuesOf('currency'), ...unknownToIntl]);
  assert.deepEqual(
    currencyCodes.filter((code) => !known.has(code)),
    [],
  );
});

/**
 * Currencies for which Intl has no decimal places and ISO 4217 has this many. Intl has the CLDR's data, which describe
 * how prices are commonly written; card networks and processors follow ISO 4217.
 */
const exponentsUnlikeIntl: Readonly<Record<string, number>> = {
  ...{
    AFN: 2,
    ALL: 2,
    COP: 2,
    HUF: 2,
    IDR: 2,
    IQD: 3,
    IRR: 2,
    KPW: 2,
    LAK: 2,
    LBP: 2,
    MGA: 2,
    MMK: 2,
    PKR: 2,
  },
  ...{ SOS: 2, SYP: 2, YER: 2 },
};

test('every currency has the decimal places of Intl, or those of ISO 4217 where they differ', () => {
  for (const currency of currencyCodes) {
    const format = new Intl.NumberFormat('en', { style: 'currency', currency });
    const expected = exponentsUnlikeIntl[currency] ?? format.resolvedOptions().maximumFractionDigits;
    assert.equal(currencyExponent(currency), expected, currency);
  }
});

test('knows no currency that does not exist', () => {
  for (const code of ['', 'EU', 'eur', 'EURO', 'XAU', 'XXX', 'XTS', 'DEM']) {
    assert.equal(currencyExponent(code), undefined, code);
  }
});
