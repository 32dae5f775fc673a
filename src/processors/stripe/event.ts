import type { Stripe } from 'stripe';
import type { ChargeChange, Delivery, DisputeChange, ParsedEvent, RefundChange } from '../reports.ts';
import { isFinal } from '../sending/outcomes.ts';
import { isoAmount } from './amount.ts';
import { intentOutcome, paymentIdKey } from './charge.ts';
import { refundIdKey, refundState } from './refund.ts';

/** Stripe's default. An older signature may be a replay of an intercepted one. */
const toleranceSeconds = 300;

/**
 * Checks the signature over the raw bytes and parses the event
 * (https://docs.stripe.com/webhooks#verify-official-libraries).
 *
 * @param secrets accepts a signature by any of them, so that they can be rotated
 */
export function readEvent(client: Stripe, secrets: readonly string[], delivery: Delivery): ParsedEvent {
  if (secrets.length === 0) return { kind: 'not_configured' };
  const header = delivery.headers['stripe-signature'];
  if (typeof header !== 'string') return { kind: 'invalid_signature', detail: 'no Stripe-Signature' };
  if (!secrets.some((secret) => isSigned(client, secret, header, delivery))) {
    return { kind: 'invalid_signature', detail: 'the signature matches none of our secrets, or is too old' };
  }
  try {
    return parsed(client.webhooks.constructEventWithoutVerification(delivery.body.toString()));
  } catch (error) {
    if ((error as Error).name === 'SyntaxError') return { kind: 'invalid_signature', detail: 'not JSON' };
    // The event has a format that this adapter does not support, such as Stripe's v2 events.
    return { kind: 'irrelevant' };
  }
}

/** False for any error in the signature. */
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

function parsed(event: Stripe.Event): ParsedEvent {
  const change = readChange(event);
  if (change === undefined) return { kind: 'irrelevant' };
  return { kind: 'event', event: { id: event.id, happenedAt: event.created * 1_000, change } };
}

/**
 * The statuses of a chargeback whose amount Stripe has debited. `warning_…` is an inquiry, which debits nothing, and `won`
 * returns the amount (https://docs.stripe.com/disputes/how-disputes-work).
 */
const withdrawn: readonly string[] = ['needs_response', 'under_review', 'lost'];

/** https://docs.stripe.com/api/events/types */
function readChange(event: Stripe.Event): ChargeChange | RefundChange | DisputeChange | undefined {
  switch (event.type) {
    case 'payment_intent.succeeded':
    case 'payment_intent.payment_failed':
    case 'payment_intent.canceled':
      return chargeChange(event.data.object);
    case 'refund.created':
    case 'refund.updated':
    case 'refund.failed':
    case 'charge.refund.updated':
      return refundChange(event.data.object);
    case 'charge.dispute.created':
    case 'charge.dispute.updated':
    case 'charge.dispute.closed':
      return disputeChange(event.data.object);
    default:
      return undefined;
  }
}

function chargeChange(intent: Stripe.PaymentIntent): ChargeChange | undefined {
  const paymentId = intent.metadata[paymentIdKey];
  const outcome = intentOutcome(intent);
  if (paymentId === undefined || !isFinal(outcome)) return undefined;
  return { about: 'charge', paymentId, outcome };
}

function refundChange({
  id,
  charge,
  amount,
  currency,
  status,
  metadata,
}: Stripe.Refund): RefundChange | undefined {
  const chargeId = expandedId(charge);
  if (chargeId === undefined) return undefined;
  return {
    about: 'refund',
    chargeId,
    processorRefundId: id,
    refundId: metadata?.[refundIdKey],
    amount: isoAmount(amount, currency.toUpperCase()),
    state: refundState(status),
  };
}

function disputeChange({
  id,
  charge,
  amount,
  currency,
  status,
  reason,
}: Stripe.Dispute): DisputeChange | undefined {
  const chargeId = expandedId(charge);
  if (chargeId === undefined) return undefined;
  return {
    about: 'dispute',
    chargeId,
    disputeId: id,
    amount: isoAmount(amount, currency.toUpperCase()),
    status,
    reason,
    isWithdrawn: withdrawn.includes(status),
  };
}

function expandedId(charge: string | Stripe.Charge | null): string | undefined {
  return typeof charge === 'string' ? charge : charge?.id;
}
