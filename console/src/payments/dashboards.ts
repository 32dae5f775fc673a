import type { Payment } from '@counterfoil/client';

/** The address of the charge on the processor's dashboard; undefined if the processor has none. */
export function dashboardUrl({ processor, charge_id }: Payment): string | undefined {
  if (charge_id === null) return undefined;
  const id = encodeURIComponent(charge_id);
  if (processor === 'stripe') return `https://dashboard.stripe.com/payments/${id}`;
  if (processor === 'square') return `https://app.squareup.com/dashboard/sales/transactions/${id}`;
  return undefined;
}
