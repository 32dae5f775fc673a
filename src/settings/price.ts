import { type Static, Type } from 'typebox';
import { currencyExponent } from '../currencies.ts';
import { amountMax } from '../payments/limits.ts';
import { tableNamePattern } from '../table-name.ts';

const metadataSource = Type.String({
  pattern: '^metadata\\.[A-Za-z0-9_.-]{1,40}$',
  description: 'metadata.<key>',
});

/**
 * `priceProblems` checks which fields belong together, because the validator would report an error of a union for each of its
 * members.
 */
export const priceSetting = Type.Union(
  [
    Type.Literal('payer'),
    Type.Object(
      {
        fixed: Type.Optional(
          Type.Integer({ minimum: 1, maximum: amountMax, description: 'in the smallest unit' }),
        ),
        table: Type.Optional(Type.String({ pattern: tableNamePattern })),
        id: Type.Optional(metadataSource),
        quantity: Type.Optional(metadataSource),
        currency: Type.String({ pattern: '^[A-Za-z]{3}$' }),
      },
      { additionalProperties: false },
    ),
  ],
  {
    description: '"payer", {"fixed", "currency"} or {"table", "id", "currency", "quantity"}',
  },
);

interface PricedRoute {
  readonly price?: Static<typeof priceSetting> | undefined;
  readonly currencies?: readonly string[] | undefined;
  readonly minimum?: number | undefined;
  readonly maximum?: number | undefined;
}

interface KnownTables {
  /** Whether a table of this name can exist. */
  readonly canExist: (name: string) => boolean;
  /** The tables in which successful charges create items. */
  readonly ofItems: ReadonlySet<string | undefined>;
}

/** Problems of the price of a route, as texts that continue the name of the setting. */
export function priceProblems(
  { price, currencies, minimum, maximum }: PricedRoute,
  tables: KnownTables,
): readonly string[] {
  if (price === undefined) return [];
  if (price === 'payer') {
    if (minimum !== undefined && maximum !== undefined) return [];
    return ['"payer" needs minimum and maximum, because the buyer chooses the amount'];
  }
  const { fixed, table, id, quantity, currency } = price;
  const problems: string[] = [];
  if ((fixed === undefined) === (table === undefined)) problems.push('needs either fixed or table');
  if (fixed !== undefined && (id !== undefined || quantity !== undefined))
    problems.push('id and quantity belong to a table, not to a fixed price');
  if (table !== undefined && id === undefined)
    problems.push('a table needs id, which names the item with the price');
  if (table !== undefined && !tables.canExist(table))
    problems.push('its table is not among the declared tables');
  if (table !== undefined && tables.ofItems.has(table))
    problems.push('on_success creates items in its table, so buyers could set prices; use another table');
  if (currencyExponent(currency.toUpperCase()) === undefined)
    problems.push(`${currency} is not a currency of ISO 4217`);
  if (currencies?.every((each) => each.toUpperCase() !== currency.toUpperCase()))
    problems.push(`${currency} is not among the currencies of the route`);
  if (fixed !== undefined && (fixed < (minimum ?? 1) || fixed > (maximum ?? amountMax)))
    problems.push('fixed is not between minimum and maximum');
  return problems;
}
