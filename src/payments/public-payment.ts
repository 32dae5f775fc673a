import { createHmac, timingSafeEqual } from 'node:crypto';
import type { NextAction, RequiresAction } from '../processors/processor.ts';
import type { Sealer } from '../secrets/sealer.ts';
import type { Engine } from '../storage/engine.ts';
import { hasEnded } from './charge-state.ts';
import {
  type Authentication,
  actionPlace,
  newProcessorKey,
  type Payment,
  type PaymentPlace,
  type PaymentPrice,
} from './payment.ts';
import { findPayment } from './payment-store.ts';
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

/**
 * The public fields of a payment for its buyer, who reads it with its client secret. The shop's own fields are empty.
 */
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

const purpose = 'counterfoil payment client secret';

/** A key that no payment has. With it, the check of an unknown payment takes as long as that of a known one. */
const keyOfNone = newProcessorKey();

/**
 * The secret with which a buyer's browser reads one payment, and nothing else. It is derived, so no record stores it,
 * and every response to the request that made the payment has the same secret.
 */
export function deriveClientSecret({ processorKey }: Pick<Payment, 'processorKey'>): string {
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
  const secret = Buffer.from(deriveClientSecret(payment ?? { processorKey: keyOfNone }));
  const sent = Buffer.from(text);
  return sent.length === secret.length && timingSafeEqual(sent, secret) && payment !== undefined;
}

/**
 * The part of the record about an attempt that the cardholder must authenticate.
 *
 * @param until milliseconds since 1970
 */
export function sealAuthentication(
  { sealer }: { readonly sealer: Pick<Sealer, 'sealWithSharedKey'> },
  { id }: Payment,
  { attemptId, action }: RequiresAction,
  until: number,
): Authentication {
  const sealedAction = sealer.sealWithSharedKey(JSON.stringify(action), actionPlace(id));
  return { attemptId, until, sealedAction };
}

/** What the cardholder must do next; undefined if the payment does not wait for its cardholder. */
export function openNextAction(
  { sealer }: { readonly sealer: Pick<Sealer, 'open'> },
  { id, state, authentication }: Payment,
): NextAction | undefined {
  const sealed = authentication?.sealedAction;
  if (state !== 'requires_action' || sealed === undefined) return undefined;
  return JSON.parse(sealer.open(sealed, actionPlace(id))) as NextAction;
}
