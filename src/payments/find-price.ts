import { ServiceError } from '../errors.ts';
import { checkMetadata } from './charge/request.ts';
import { findProcessor, type PaymentContext } from './context.ts';
import type { Metadata } from './payment.ts';
import { findRoute } from './payment-routes.ts';
import { metadataKeyOf, type Price } from './prices.ts';

export interface SoughtPrice {
  readonly processor: string;
  readonly route: string;
  /** The metadata of the payment, as far as the price depends on it. */
  readonly metadata: Metadata;
}

/**
 * The price that a payment on this route has now. Throws `processor_not_found`, `processor_not_configured`,
 * `route_not_found` also for a route that sets no price, and as `Prices.read` does.
 */
export async function findPrice(
  context: Pick<PaymentContext, 'processors' | 'routes' | 'prices'>,
  { processor, route, metadata }: SoughtPrice,
): Promise<Price> {
  findProcessor(context, processor);
  const { price } = findRoute(context, route);
  if (price === undefined || price === 'payer') {
    const message = 'This payment route sets no price: the caller chooses the amount.';
    throw new ServiceError('route_not_found', { message });
  }
  const needed = 'table' in price ? [price.id, price.quantity ?? price.id].map(metadataKeyOf) : [];
  const other = Object.keys(checkMetadata(metadata)).find((key) => !needed.includes(key));
  if (other !== undefined) {
    const message = 'The price of this payment route does not depend on this query parameter.';
    throw new ServiceError('invalid_request', { param: other, message });
  }
  return context.prices.read(price, metadata);
}
