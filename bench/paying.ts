import { takeStream } from './items.ts';
import { idPlaceholder, type Requests } from './wrk.ts';

export const chargePath = '/stage/payment/simulated/charge';
const order = { amount: 1_050, currency: 'EUR', token: 'tok_paid', metadata: { order: idPlaceholder } };

/** Charges without an idempotency key: each is another one. */
export function charges(): Requests {
  const items = { kind: 'new', stream: takeStream() } as const;
  return { method: 'POST', body: JSON.stringify(order), expected: '"statusCode":200', items };
}

/** One charge, to be sent again and again with an idempotency key. */
export const sameCharge = JSON.stringify({ amount: 1_050, currency: 'EUR', token: 'tok_paid' });
