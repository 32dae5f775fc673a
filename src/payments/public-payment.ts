import { hasEnded } from './charge-state.ts';
import type { Payment, PaymentPrice } from './payment.ts';
import { amountRefunded } from './refund/amounts.ts';
import { publicRefund } from './refund/response.ts';

/** The public fields of a payment. Amounts are in the smallest unit of the currency. */
export function publicPayment(payment: Payment) {
  const { item } = payment;
  return {
    id: payment.id,
    status: payment.state,
    processor: payment.processor,
    amount: payment.amount,
    currency: payment.currency,
    price: payment.price === undefined ? null : publicPrice(payment.price),
    charge_id: payment.chargeId ?? null,
    decline_code: payment.declineCode ?? null,
    created_at: payment.createdAt,
    metadata: payment.metadata ?? {},
    description: payment.details?.description ?? null,
    statement_descriptor_suffix: payment.details?.statementDescriptorSuffix ?? null,
    item: item === undefined ? null : { table: item.table, id: itemId(payment), status: item.state },
    amount_refunded: amountRefunded(payment),
    refunds: (payment.refunds ?? []).map((refund) => publicRefund(payment, refund)),
    disputes: (payment.disputes ?? []).map(({ id, amount, status, reason }) => ({
      id,
      amount,
      status,
      reason,
    })),
  };
}

/** The public fields of a payment for its buyer, who reads it with its client secret: what is the shop's own is empty. */
export function buyersPayment(payment: Payment) {
  return { ...publicPayment(payment), metadata: {}, disputes: [] };
}

function publicPrice(price: PaymentPrice) {
  if (price.type !== 'table') return price;
  const { unitAmount, ...rest } = price;
  return { ...rest, unit_amount: unitAmount };
}

function itemId({ item, state, chargeId }: Payment): string | null {
  return item?.id ?? (hasEnded(state) ? (chargeId ?? null) : null);
}
