import { ServiceError } from '../errors.ts';
import { findProcessor, type PaymentContext } from './context.ts';
import type { Payment } from './payment.ts';
import { findRoute } from './payment-routes.ts';
import { findPayment } from './payment-store.ts';

/** The payment with this id on this route. Throws `processor_not_found`, `route_not_found`, `payment_not_found`. */
export async function findPaymentOn(
  context: Pick<PaymentContext, 'processors' | 'routes' | 'engine'>,
  { processor, route, paymentId }: { processor: string; route: string; paymentId: string },
): Promise<Payment> {
  findProcessor(context, processor);
  findRoute(context, route);
  const payment = await findPayment(context, paymentId);
  if (payment?.processor !== processor || payment.route !== route)
    throw new ServiceError('payment_not_found');
  return payment;
}
