import { ServiceError } from '../errors.ts';

/** The rules of one payment route, checked before anything is reserved. */
export interface RoutePolicy {
  /** Whether callers send amounts in the smallest unit of the currency or in the currency itself. */
  readonly unit: 'minor' | 'major';
  readonly currencies?: readonly string[];
  /** In the smallest unit. */
  readonly minimum?: number;
  /** In the smallest unit. */
  readonly maximum?: number;
  /** Origins of the pages to which a cardholder may return after authenticating. */
  readonly return_urls?: readonly string[];
  readonly on_success?: ItemPolicy;
  /** Without a price, the caller sets the amount, and publishable API keys cannot be used. */
  readonly price?: RoutePrice;
}

/** `payer`: the buyer chooses the amount, within `minimum` and `maximum`. */
export type RoutePrice = 'payer' | FixedPrice | TablePrice;

/** Amounts of prices are in the smallest unit of the currency, even if the route has the unit `major`. */
interface FixedPrice {
  readonly fixed: number;
  readonly currency: string;
}

/** The name of the item is the price of one piece. */
export interface TablePrice {
  readonly table: string;
  /** The id of the item. */
  readonly id: MetadataSource;
  readonly currency: string;
  /** The number of pieces; one by default. */
  readonly quantity?: MetadataSource;
}

export type MetadataSource = `metadata.${string}`;

/** The item that a payment route makes in a table, in the commit that settles a successful charge. */
export interface ItemPolicy {
  readonly table: string;
  readonly id: ItemSource;
  readonly name: ItemSource;
  /** Whether a full refund deletes the item; `keep` by default. */
  readonly on_refund?: ItemRule;
  /** Whether a dispute that withdraws the money deletes the item; `keep` by default. */
  readonly on_dispute?: ItemRule;
}

type ItemRule = 'keep' | 'delete';

export type ItemSource = 'payment_id' | 'charge_id' | `metadata.${string}`;

export function findRoute(
  { routes }: { readonly routes: ReadonlyMap<string, RoutePolicy> },
  name: string,
): RoutePolicy {
  const route = routes.get(name);
  if (route === undefined)
    throw new ServiceError('route_not_found', { message: 'There is no payment route with this name.' });
  return route;
}
