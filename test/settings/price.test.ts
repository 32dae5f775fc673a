import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { SettingsError } from '../../src/errors.ts';
import { loadSettings } from '../../src/settings/load.ts';
import { writeSettings } from '../support/payments/settings-file.ts';

const fixed = { fixed: 1_050, currency: 'EUR' };
const table = { table: 'prices', id: 'metadata.sku', currency: 'EUR' };

function problemsOf(t: TestContext, route: object, env: Record<string, string> = {}): readonly string[] {
  const file = writeSettings(t, { payments: { routes: { poster: route } } });
  try {
    loadSettings({ env, file, simulate: true });
    return [];
  } catch (error) {
    assert.ok(error instanceof SettingsError);
    return error.problems;
  }
}

test('accepts every documented price', (t) => {
  for (const route of [
    { price: fixed },
    { price: { ...fixed, currency: 'eur' }, currencies: ['EUR', 'USD'], minimum: 1_050, maximum: 1_050 },
    { price: table, on_success: { table: 'sold', id: 'metadata.sku', name: 'payment_id' } },
    { price: { ...table, quantity: 'metadata.quantity' }, unit: 'major' },
    { price: 'payer', minimum: 100, maximum: 5_000 },
  ])
    assert.deepEqual(problemsOf(t, route), []);
});

test('rejects a price that contradicts itself or its route, and says how', (t) => {
  for (const [route, problem] of [
    [{ price: 'buyer' }, /^payments\.routes\.poster\.price: must be/],
    [{ price: 1_050 }, /^payments\.routes\.poster\.price: must be/],
    [{ price: {} }, /currency/],
    [{ price: { currency: 'EUR' } }, /needs either fixed or table/],
    [{ price: { ...fixed, ...table } }, /needs either fixed or table/],
    [{ price: { ...fixed, fixed: 0 } }, /fixed: must be >= 1/],
    [{ price: { ...fixed, fixed: 10.5 } }, /fixed: must be integer/],
    [{ price: { ...fixed, fixed: 100_000_000 } }, /fixed: must be <= 99999999/],
    [{ price: { ...fixed, quantity: 'metadata.quantity' } }, /id and quantity belong to a table/],
    [{ price: { ...fixed, amount: 1 } }, /amount: this setting does not exist/],
    [{ price: { fixed: 1_050, currency: 'EUX' } }, /EUX is not a currency of ISO 4217/],
    [{ price: fixed, currencies: ['USD'] }, /EUR is not among the currencies of the route/],
    [{ price: fixed, minimum: 2_000 }, /fixed is not between minimum and maximum/],
    [{ price: fixed, maximum: 1_000 }, /fixed is not between minimum and maximum/],
    [{ price: { table: 'prices', currency: 'EUR' } }, /a table needs id/],
    [{ price: { ...table, id: 'poster' } }, /price\.id: must match pattern/],
    [{ price: { ...table, id: 'payment_id' } }, /price\.id: must match pattern/],
    [{ price: { ...table, quantity: '2' } }, /price\.quantity: must match pattern/],
    [{ price: 'payer' }, /"payer" needs minimum and maximum/],
    [{ price: 'payer', minimum: 100 }, /"payer" needs minimum and maximum/],
    [{ price: 'payer', maximum: 100 }, /"payer" needs minimum and maximum/],
    [
      { price: table, on_success: { table: 'prices', id: 'metadata.sku', name: 'metadata.name' } },
      /on_success creates items in its table, so buyers could set prices/,
    ],
  ] as const) {
    const problems = problemsOf(t, route);
    assert.ok(
      problems.some((each) => problem.test(each)),
      `${JSON.stringify(route)}: ${problems.join('; ')}`,
    );
  }
});

test('the table of a price is declared like other tables', (t) => {
  const env = { COUNTERFOIL_TABLES: 'declared', COUNTERFOIL_DECLARED_TABLES: 'books' };
  assert.deepEqual(problemsOf(t, { price: table }, env), [
    'payments.routes.poster.price: its table is not among the declared tables',
  ]);
  assert.deepEqual(
    problemsOf(t, { price: table }, { ...env, COUNTERFOIL_DECLARED_TABLES: 'books,prices' }),
    [],
  );
});
