import { takeStream } from './items.ts';
import { idPlaceholder, type Requests } from './wrk.ts';

export const chargePath = '/stage/payment/simulated/charge';
const chargeBody = { amount: 1_050, currency: 'EUR', token: 'tok_paid', metadata: { order: idPlaceholder } };

/** Charges without an idempotency key: each request is a charge of its own. */
export function charges(): Requests {
  const items = { kind: 'new', stream: takeStream() } as const;
  return { method: 'POST', body: JSON.stringify(chargeBody), expected: '"statusCode":200', items };
}

/** One charge, which is sent repeatedly with the same idempotency key. */
export const sameCharge = JSON.stringify({ amount: 1_050, currency: 'EUR', token: 'tok_paid' });
