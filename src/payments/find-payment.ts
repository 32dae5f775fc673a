import { ServiceError } from '../errors.ts';
import { refreshAuthentication } from './charge/authenticate.ts';
import { checkIdempotencyKey } from './charge/request.ts';
import { findProcessor, type PaymentContext } from './context.ts';
import { callerKeyEntry, type Payment, type PaymentPlace } from './payment.ts';
import { findRoute } from './payment-routes.ts';
import { findPayment, findPaymentByKey } from './payment-store.ts';

/** The payment with this id on this route. Throws `processor_not_found`, `route_not_found`, `payment_not_found`. */
export async function findPaymentOn(
  context: Pick<PaymentContext, 'processors' | 'routes' | 'engine'>,
  { processor, route, paymentId }: PaymentPlace,
): Promise<Payment> {
  findProcessor(context, processor);
  findRoute(context, route);
  const payment = await findPayment(context, paymentId);
  if (payment?.processor !== processor || payment.route !== route)
    throw new ServiceError('payment_not_found');
  return payment;
}

/** The payment with this id as it is now: one that waits for its cardholder is looked up first. Throws as `findPaymentOn` does. */
export async function retrievePayment(context: PaymentContext, place: PaymentPlace): Promise<Payment> {
  return refreshAuthentication(context, await findPaymentOn(context, place));
}

/**
 * Finds the payment of a request whose response was lost, as it is now: one that waits for its cardholder is looked up first.
 * Throws `processor_not_found`, `route_not_found`, `invalid_request`, `payment_not_found`.
 */
export async function retrieveByIdempotencyKey(
  context: PaymentContext,
  { processor, route, caller, key }: { processor: string; route: string; caller: string; key: string },
): Promise<Payment> {
  findProcessor(context, processor);
  findRoute(context, route);
  const checked = checkIdempotencyKey(key, 'idempotency_key') as string;
  const payment = await findPaymentByKey(context, callerKeyEntry(caller, processor, route, checked));
  if (payment === undefined) {
    // The request may still be on its way, so the message must not say that nothing was charged.
    throw new ServiceError('payment_not_found', {
      message: 'There is no payment with this idempotency key.',
    });
  }
  return refreshAuthentication(context, payment);
}
