import { createHmac, timingSafeEqual } from 'node:crypto';
import type { ChargeChange, Delivery, DisputeChange, ParsedEvent, RefundChange } from '../processor.ts';
import { type Json, objectOf, textOf } from './api.ts';
import { outcomeOfStatus } from './charge.ts';
import { paymentIdOf } from './look-up.ts';
import { refundIdOf, stateOfRefund } from './refund.ts';

/** What the webhook subscription of Square says. */
export interface Subscription {
  /** Any of them may have signed, so that they can be rotated. */
  readonly keys: readonly string[];
  /** As Square has it, byte for byte: it is signed too. */
  readonly url: string | undefined;
}

/**
 * Checks the signature over the notification URL and the bytes of the body, and reads the event
 * (https://developer.squareup.com/docs/webhooks/step3validate). The SDK's own check does not take constant time.
 *
 * Square signs no time, so that an old event cannot be told from one that is delivered late, as Square does for 24 h;
 * none is refused for its age. One that was overheard and is sent again does no harm: it has the same id, and what it
 * says was true.
 */
export function readEvent({ keys, url }: Subscription, { headers, body }: Delivery): ParsedEvent {
  if (keys.length === 0 || url === undefined) return { kind: 'not_configured' };
  const signature = headers['x-square-hmacsha256-signature'];
  if (typeof signature !== 'string') return { kind: 'forged', detail: 'no x-square-hmacsha256-signature' };
  if (!keys.some((key) => isSignedBy(key, url, body, signature)))
    return { kind: 'forged', detail: 'the signature is of none of our keys, or for another URL' };
  return readingOf(body);
}

function isSignedBy(key: string, url: string, body: Buffer, signature: string): boolean {
  const expected = Buffer.from(createHmac('sha256', key).update(url).update(body).digest('base64'));
  const given = Buffer.from(signature);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** What Square has signed and is not as documented says nothing to us. */
function readingOf(body: Buffer): ParsedEvent {
  const event = jsonOf(body);
  const id = textOf(event.event_id);
  const happenedAt = Date.parse(textOf(event.created_at) ?? '');
  const news = newsOf(event);
  if (id === undefined || Number.isNaN(happenedAt) || news === undefined) return { kind: 'irrelevant' };
  return { kind: 'event', event: { id, happenedAt, news } };
}

function jsonOf(body: Buffer): Json {
  try {
    return objectOf(JSON.parse(body.toString()));
  } catch {
    return {};
  }
}

/** https://developer.squareup.com/docs/webhooks/v2webhook-events-tech-ref */
function newsOf(event: Json): ChargeChange | RefundChange | DisputeChange | undefined {
  const { payment, refund, dispute } = objectOf(objectOf(event.data).object);
  switch (event.type) {
    case 'payment.created':
    case 'payment.updated':
      return chargeNews(objectOf(payment));
    case 'refund.created':
    case 'refund.updated':
      return refundNews(objectOf(refund));
    case 'dispute.created':
    case 'dispute.state.updated':
      return disputeNews(objectOf(dispute));
    default:
      return undefined;
  }
}

function chargeNews({ id, status, reference_id, card_details }: Json): ChargeChange | undefined {
  const paymentId = paymentIdOf(textOf(reference_id));
  const { errors } = objectOf(card_details);
  const failures = Array.isArray(errors) ? errors.map((each) => textOf(objectOf(each).code)) : [];
  const outcome = outcomeOfStatus(
    textOf(status),
    textOf(id),
    failures.filter((code) => code !== undefined),
  );
  if (paymentId === undefined || (outcome.kind !== 'succeeded' && outcome.kind !== 'declined'))
    return undefined;
  return { about: 'charge', paymentId, outcome };
}

function refundNews({ id, payment_id, status, reason, amount_money }: Json): RefundChange | undefined {
  const processorRefundId = textOf(id);
  const chargeId = textOf(payment_id);
  const amount = amountOf(amount_money);
  if (processorRefundId === undefined || chargeId === undefined || amount === undefined) return undefined;
  const refundId = refundIdOf(textOf(reason));
  const state = stateOfRefund(textOf(status));
  return { about: 'refund', chargeId, processorRefundId, refundId, amount, state };
}

/** Older events name the dispute by `dispute_id` (https://developer.squareup.com/reference/square/objects/Dispute). */
function disputeNews(dispute: Json): DisputeChange | undefined {
  const disputeId = textOf(dispute.id) ?? textOf(dispute.dispute_id);
  const chargeId = textOf(objectOf(dispute.disputed_payment).payment_id);
  const amount = amountOf(dispute.amount_money);
  const status = textOf(dispute.state);
  if (disputeId === undefined || chargeId === undefined || amount === undefined || status === undefined)
    return undefined;
  return { about: 'dispute', chargeId, disputeId, amount, status, reason: textOf(dispute.reason) ?? '' };
}

function amountOf(money: unknown): number | undefined {
  const { amount } = objectOf(money);
  return Number.isSafeInteger(amount) ? (amount as number) : undefined;
}
