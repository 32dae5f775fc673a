import { ServiceError } from '../errors.ts';
import { findProcessor, type PaymentParts } from './context.ts';
import type { Payment } from './payment.ts';
import { findRoute } from './payment-routes.ts';
import { findPayment } from './payment-store.ts';

/** The payment of this id on this route. Refuses with `processor_not_found`, `route_not_found`, `payment_not_found`. */
export async function findPaymentOn(
  parts: Pick<PaymentParts, 'processors' | 'routes' | 'engine'>,
  { processor, route, paymentId }: { processor: string; route: string; paymentId: string },
): Promise<Payment> {
  findProcessor(parts, processor);
  findRoute(parts, route);
  const payment = await findPayment(parts, paymentId);
  if (payment?.processor !== processor || payment.route !== route)
    throw new ServiceError('payment_not_found');
  return payment;
}
