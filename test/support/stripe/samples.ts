import type { Charge, Intent, Refund } from './objects.ts';

/** The creation time of all samples, in seconds since 1970. */
export const created = 1_790_000_000;
export const intent: Intent = {
  id: 'pi_1',
  object: 'payment_intent',
  amount: 2_000,
  amount_received: 2_000,
  currency: 'eur',
  status: 'succeeded',
  created,
  metadata: { counterfoil_payment_id: 'pay_1' },
  latest_charge: 'ch_1',
  last_payment_error: null,
  payment_method: 'pm_1',
};
export const refund: Refund = {
  id: 're_1',
  object: 'refund',
  amount: 50_000,
  currency: 'ugx',
  status: 'succeeded',
  created,
  metadata: { counterfoil_refund_id: 'ref_1' },
  charge: 'ch_1',
  payment_intent: 'pi_1',
};

/** A charge that succeeded. */
export const charge: Charge = {
  id: 'ch_1',
  object: 'charge',
  amount: 2_000,
  amount_refunded: 0,
  currency: 'eur',
  status: 'succeeded',
  captured: true,
  created,
  metadata: intent.metadata,
  payment_intent: 'pi_1',
};
