import type { ApiKey } from '../access/keys/api-key.ts';
import type { Settings } from '../settings/schema.ts';

/**
 * Why a publishable key cannot take payments: the routes that it is limited to have no price, or no route has one. Undefined
 * for every other key.
 */
export function withoutPrice(
  { kind, routes: limits }: Pick<ApiKey, 'kind' | 'routes'>,
  { payments }: Settings,
): string | undefined {
  if (kind !== 'publishable') return undefined;
  const names = limits?.map((limit) => limit.slice(limit.indexOf('/') + 1)) ?? Object.keys(payments.routes);
  const known = names.filter((name) => payments.routes[name] !== undefined);
  const unpriced = known.filter((name) => payments.routes[name]?.price === undefined);
  // A key without limits is in use as long as one route has a price.
  if (unpriced.length === 0 || (limits === undefined && unpriced.length < known.length)) return undefined;
  const settings = unpriced.map((name) => `payments.routes.${name}.price`).join(', ');
  return `it cannot take payments on ${unpriced.join(', ')}, because a page must not set the price; set ${settings}`;
}
