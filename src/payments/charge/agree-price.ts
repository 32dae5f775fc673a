import type { PaymentContext } from '../context.ts';
import type { Payment } from '../payment.ts';
import type { RoutePolicy } from '../payment-routes.ts';
import { findPaymentByKey } from '../payment-store.ts';
import type { AgreedPrice } from '../prices.ts';
import type { CheckedChargeRequest } from './request.ts';

/** The price of a new payment, or the payment that already has its key. */
export interface Agreement {
  readonly price?: AgreedPrice | undefined;
  readonly earlier?: Payment;
}

/**
 * Compares a new payment with the price of its route. If it differs, an equal request that was sent at the same time may
 * have been reserved before the price changed: then that payment is returned.
 *
 * Throws as `Prices.agree` does.
 *
 * @param isChanged whether the reservation has found another price
 */
export async function agreePrice(
  context: Pick<PaymentContext, 'engine' | 'prices'>,
  policy: RoutePolicy,
  request: CheckedChargeRequest,
  keyEntry: string | undefined,
  isChanged: boolean,
): Promise<Agreement> {
  try {
    return { price: await context.prices.agree(policy, request, isChanged) };
  } catch (error) {
    const earlier = keyEntry === undefined ? undefined : await findPaymentByKey(context, keyEntry);
    if (earlier === undefined) throw error;
    return { earlier };
  }
}
