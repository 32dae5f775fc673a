import { LRUCache } from 'lru-cache';
import { writtenAmount } from '../currencies.ts';
import { invalidRequest, ServiceError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { Engine, Write } from '../storage/engine.ts';
import type { ItemWriter } from './fulfilment.ts';
import {
  amountMax,
  invalidPriceLoggedMs,
  invalidPricesLoggedMax,
  pricesRememberedMax,
  quantityMax,
} from './limits.ts';
import type { Metadata, PaymentPrice } from './payment.ts';
import type { MetadataSource, RoutePolicy, RoutePrice, TablePrice } from './payment-routes.ts';

/** The fields of a charge request that the price depends on. */
interface PaidRequest {
  /** In the smallest unit of the currency. */
  readonly amount: number;
  /** Upper case. */
  readonly currency: string;
  readonly metadata?: Metadata | undefined;
  readonly needsPrice: boolean;
}

type Place = Pick<Write, 'space' | 'id'>;

/** The price of one payment. */
export interface Price extends AgreedPrice {
  /** In the smallest unit of the currency. */
  readonly amount: number;
  /** Upper case. */
  readonly currency: string;
}

export interface AgreedPrice {
  /** How the amount was computed. */
  readonly source: PaymentPrice;
  /** Writes for the commit of the reservation. The engine rejects them if the price has changed since it was read. */
  readonly checks: readonly Write[];
}

/** A price that the buyer chooses within the limits of the route. */
const chosenByPayer: AgreedPrice = { source: { type: 'payer' }, checks: [] };

interface PricesOptions extends Pick<ItemWriter, 'itemWrite'> {
  readonly engine: Engine;
  readonly log: Log;
}

/**
 * The prices that the shop sets for its payment routes. A buyer's request must repeat the price and cannot change it.
 */
export class Prices {
  readonly #options: PricesOptions;
  /**
   * Caches valid prices, so that most charges read no price. A stale price does no harm, because the reservation checks
   * it.
   */
  readonly #texts = new LRUCache<string, string>({ max: pricesRememberedMax });
  /** Items whose invalid price was logged lately. */
  readonly #logged = new LRUCache<string, true>({ max: invalidPricesLoggedMax, ttl: invalidPriceLoggedMs });

  constructor(options: PricesOptions) {
    this.#options = options;
  }

  /**
   * Compares a new payment with the price of its route. A cached price that agrees is enough, because the reservation
   * checks it. A difference is reported only after the price is read from the store.
   *
   * Throws `amount_mismatch`, `forbidden` if the route has no price but the request needs one, and the errors of
   * `read`.
   *
   * @param isChanged whether a reservation has just found that the cached price is stale
   * @returns undefined for a route without a price
   */
  async agree(
    { price }: RoutePolicy,
    { amount, currency, metadata, needsPrice }: PaidRequest,
    isChanged = false,
  ): Promise<AgreedPrice | undefined> {
    if (price === undefined) {
      if (needsPrice) throw unpricedRoute();
      return undefined;
    }
    if (price === 'payer') return chosenByPayer;
    const known = isChanged ? undefined : this.#remembered(price, metadata);
    if (known?.amount === amount && known.currency === currency) return known;
    const expected = await this.read(price, metadata);
    if (expected.amount !== amount) throw mismatch('amount', expected);
    if (expected.currency !== currency) throw mismatch('currency', expected);
    return expected;
  }

  /**
   * Reads a price from the store. Throws `invalid_request` if the metadata names no price or quantity, and
   * `unavailable` if the price in the table is not valid; only the shop can correct it.
   */
  async read(price: Exclude<RoutePrice, 'payer'>, metadata: Metadata | undefined): Promise<Price> {
    if ('fixed' in price) {
      const { fixed: amount, currency } = price;
      return { amount, currency: currency.toUpperCase(), source: { type: 'fixed' }, checks: [] };
    }
    const place = this.#locate(price, metadata);
    const text = place && (await this.#options.engine.get(place.space, place.id));
    if (place === undefined || text === undefined)
      throw invalidRequest(price.id, `There is no price for this ${price.id}.`);
    const unitAmount = parseWholeNumber(text);
    if (unitAmount === undefined || unitAmount > amountMax) throw this.#invalidPrice(price.table, place.id);
    this.#texts.set(cacheKey(place), text);
    const found = priceFrom(price, { kind: 'check', ...place, ifValue: text }, metadata);
    if (found.amount > amountMax) {
      const message = `The price of this quantity is above ${amountMax}, the maximum of a payment.`;
      throw invalidRequest(price.quantity ?? price.id, message);
    }
    return found;
  }

  #remembered(price: Exclude<RoutePrice, 'payer'>, metadata: Metadata | undefined): Price | undefined {
    const place = 'fixed' in price ? undefined : this.#locate(price, metadata);
    const ifValue = place && this.#texts.get(cacheKey(place));
    if (ifValue === undefined) return undefined;
    return priceFrom(price as TablePrice, { kind: 'check', ...(place as Place), ifValue }, metadata);
  }

  /** Undefined for an id that no item of a table can have. */
  #locate({ table, id: source }: TablePrice, metadata: Metadata | undefined): Place | undefined {
    const id = requireMetadata(source, metadata, 'it names the price');
    try {
      const { space } = this.#options.itemWrite(table, { id, name: '' });
      return { space, id };
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'invalid_request') return undefined;
      throw error;
    }
  }

  #invalidPrice(table: string, id: string): ServiceError {
    const detail = `the name of item ${JSON.stringify(id)} in table ${table} is not a whole number from 1 to ${amountMax}`;
    const entry = `${table}/${id}`;
    if (!this.#logged.has(entry)) this.#options.log.error('invalid_price', { detail });
    this.#logged.set(entry, true, { noUpdateTTL: true });
    const message = `The shop has set no valid price for this item; ${nothing}`;
    return new ServiceError('unavailable', { message, retryable: false, detail });
  }
}

const nothing = 'nothing was charged.';

function cacheKey({ space, id }: Place): string {
  return `${space}/${id}`;
}

/** @param check the check of an item whose price is valid; the amount may exceed `amountMax` */
function priceFrom(
  { table, currency, quantity: quantitySource }: TablePrice,
  check: Extract<Write, { kind: 'check' }>,
  metadata: Metadata | undefined,
): Price {
  const unitAmount = Number(check.ifValue);
  const quantity = quantitySource === undefined ? undefined : readQuantity(quantitySource, metadata);
  const source = { type: 'table', table, id: check.id, unitAmount } as const;
  return {
    amount: unitAmount * (quantity ?? 1),
    currency: currency.toUpperCase(),
    source: quantity === undefined ? source : { ...source, quantity },
    checks: [check],
  };
}

function readQuantity(source: MetadataSource, metadata: Metadata | undefined): number {
  const quantity = parseWholeNumber(requireMetadata(source, metadata, 'it is the quantity'));
  if (quantity === undefined || quantity > quantityMax) {
    throw invalidRequest(
      source,
      `${source} must be a whole number from 1 to ${quantityMax}, in decimal digits: "2".`,
    );
  }
  return quantity;
}

/** Accepts exactly one text for each number: no sign, fraction, exponent, leading zero or space. */
function parseWholeNumber(text: string): number | undefined {
  return /^[1-9][0-9]{0,8}$/.test(text) ? Number(text) : undefined;
}

function requireMetadata(source: MetadataSource, metadata: Metadata = {}, why: string): string {
  const key = metadataKey(source);
  const value = Object.hasOwn(metadata, key) ? metadata[key] : undefined;
  if (value !== undefined) return value;
  throw invalidRequest(source, `This payment route needs ${source}: ${why}.`);
}

/** The metadata key that a source names. */
export function metadataKey(source: MetadataSource): string {
  return source.slice('metadata.'.length);
}

function mismatch(param: 'amount' | 'currency', { amount, currency }: Price): ServiceError {
  return new ServiceError('amount_mismatch', {
    param,
    expected: { amount, currency },
    message: `The price is ${writtenAmount(amount, currency)} (${amount} in the smallest unit); ${nothing}`,
  });
}

/**
 * The error for a publishable key on a route without a price. Every reader of the shop's page has this key, and could
 * choose any amount.
 */
function unpricedRoute(): ServiceError {
  return new ServiceError('forbidden', {
    param: 'route_id',
    message: `A publishable API key can be used only on a payment route with a price, and this one has none; ${nothing}`,
  });
}
