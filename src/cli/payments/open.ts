import { openOfflinePayments } from '../../app/offline/payments.ts';
import { ServiceError } from '../../errors.ts';
import type { PaymentContext } from '../../payments/context.ts';
import type { Payment } from '../../payments/payment.ts';
import { findPayment } from '../../payments/payment-store.ts';
import { withOpened } from '../command.ts';

/** Opens the payments of the settings for the work of a command. Throws SettingsError. */
export function withPayments<Result>(work: (context: PaymentContext) => Promise<Result>): Promise<Result> {
  return withOpened(openOfflinePayments, ({ payments }) => work(payments));
}

/** Throws `payment_not_found`. */
export async function paymentOf(context: PaymentContext, id: string): Promise<Payment> {
  const payment = await findPayment(context, id);
  if (payment === undefined) throw new ServiceError('payment_not_found');
  return payment;
}
