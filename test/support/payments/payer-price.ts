import { amountMax } from '../../../src/payments/limits.ts';

/** Settings in which pages may pay any amount on the default route, for tests that are not about prices. */
export const payerPrice = {
  payments: { routes: { charge: { price: 'payer', minimum: 1, maximum: amountMax } } },
} as const;
