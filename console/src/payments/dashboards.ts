import type { Payment } from '@counterfoil/client';

/** The charge on the processor's own page; undefined if it has none. */
export function dashboardUrl({ processor, charge_id }: Payment): string | undefined {
  if (charge_id === null) return undefined;
  const id = encodeURIComponent(charge_id);
  if (processor === 'stripe') return `https://dashboard.stripe.com/payments/${id}`;
  if (processor === 'square') return `https://app.squareup.com/dashboard/sales/transactions/${id}`;
  return undefined;
}
