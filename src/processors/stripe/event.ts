import type { Stripe } from 'stripe';
import type { ChargeChange, Delivery, DisputeChange, ParsedEvent, RefundChange } from '../processor.ts';
import { isoAmount } from './amount.ts';
import { outcomeOfIntent, paymentIdKey } from './charge.ts';
import { refundIdKey, stateOfRefund } from './refund.ts';

/** Stripe's own default: an older signature may have been overheard and sent again. */
const toleranceSeconds = 300;

/**
 * Checks the signature over the bytes as they came and reads the event
 * (https://docs.stripe.com/webhooks#verify-official-libraries).
 *
 * @param secrets any of them may have signed, so that they can be rotated
 */
export function readEvent(client: Stripe, secrets: readonly string[], delivery: Delivery): ParsedEvent {
  if (secrets.length === 0) return { kind: 'not_configured' };
  const header = delivery.headers['stripe-signature'];
  if (typeof header !== 'string') return { kind: 'forged', detail: 'no Stripe-Signature' };
  if (!secrets.some((secret) => isSigned(client, secret, header, delivery))) {
    return { kind: 'forged', detail: 'the signature is of none of our secrets, or too old' };
  }
  try {
    return readingOf(client.webhooks.constructEventWithoutVerification(delivery.body.toString()));
  } catch (error) {
    if ((error as Error).name === 'SyntaxError') return { kind: 'forged', detail: 'not JSON' };
    // Stripe's own, in a form that this adapter does not know, such as that of its v2 events.
    return { kind: 'irrelevant' };
  }
}

/** Whatever is wrong with a signature, it is none. */
function isSigned(
  { webhooks }: Stripe,
  secret: string,
  header: string,
  { body, receivedAt }: Delivery,
): boolean {
  try {
    return (
      webhooks.signature?.verifyHeader(body, header, secret, toleranceSeconds, undefined, receivedAt) ?? false
    );
  } catch {
    return false;
  }
}

function readingOf(event: Stripe.Event): ParsedEvent {
  const news = newsOf(event);
  if (news === undefined) return { kind: 'irrelevant' };
  return { kind: 'event', event: { id: event.id, happenedAt: event.created * 1_000, news } };
}

/** https://docs.stripe.com/api/events/types */
function newsOf(event: Stripe.Event): ChargeChange | RefundChange | DisputeChange | undefined {
  switch (event.type) {
    case 'payment_intent.succeeded':
    case 'payment_intent.payment_failed':
    case 'payment_intent.canceled':
      return chargeNews(event.data.object);
    case 'refund.created':
    case 'refund.updated':
    case 'refund.failed':
    case 'charge.refund.updated':
      return refundNews(event.data.object);
    case 'charge.dispute.created':
    case 'charge.dispute.updated':
    case 'charge.dispute.closed':
      return disputeNews(event.data.object);
    default:
      return undefined;
  }
}

function chargeNews(intent: Stripe.PaymentIntent): ChargeChange | undefined {
  const paymentId = intent.metadata[paymentIdKey];
  const outcome = outcomeOfIntent(intent);
  if (paymentId === undefined || (outcome.kind !== 'succeeded' && outcome.kind !== 'declined'))
    return undefined;
  return { about: 'charge', paymentId, outcome };
}

function refundNews({
  id,
  charge,
  amount,
  currency,
  status,
  metadata,
}: Stripe.Refund): RefundChange | undefined {
  const chargeId = idOf(charge);
  if (chargeId === undefined) return undefined;
  return {
    about: 'refund',
    chargeId,
    processorRefundId: id,
    refundId: metadata?.[refundIdKey],
    amount: isoAmount(amount, currency.toUpperCase()),
    state: stateOfRefund(status),
  };
}

function disputeNews({
  id,
  charge,
  amount,
  currency,
  status,
  reason,
}: Stripe.Dispute): DisputeChange | undefined {
  const chargeId = idOf(charge);
  if (chargeId === undefined) return undefined;
  return {
    about: 'dispute',
    chargeId,
    disputeId: id,
    amount: isoAmount(amount, currency.toUpperCase()),
    status,
    reason,
  };
}

function idOf(charge: string | Stripe.Charge | null): string | undefined {
  return typeof charge === 'string' ? charge : charge?.id;
}
