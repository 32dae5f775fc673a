import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Engine } from '../storage/engine.ts';
import { newProcessorKey, type Payment, type PaymentPlace } from './payment.ts';
import { findPayment } from './payment-store.ts';

const purpose = 'counterfoil payment client secret';

/** The key of no payment, so that an unknown payment takes as long to compare as a known one. */
const keyOfNone = newProcessorKey();

/**
 * The secret that reads one payment, and nothing else, from a buyer's browser. It is derived, so every response to the
 * request that made the payment has the same secret, and no record holds it.
 */
export function clientSecretOf({ processorKey }: Pick<Payment, 'processorKey'>): string {
  return `pcs_${createHmac('sha256', processorKey).update(purpose).digest('base64url')}`;
}

/** Whether a text is the client secret of the payment with this id on this route. Compares in constant time. */
export async function isClientSecret(
  context: { readonly engine: Engine },
  { processor, route, paymentId }: PaymentPlace,
  text: string,
): Promise<boolean> {
  const found = await findPayment(context, paymentId);
  const payment = found?.processor === processor && found.route === route ? found : undefined;
  const secret = Buffer.from(clientSecretOf(payment ?? { processorKey: keyOfNone }));
  const sent = Buffer.from(text);
  return sent.length === secret.length && timingSafeEqual(sent, secret) && payment !== undefined;
}
