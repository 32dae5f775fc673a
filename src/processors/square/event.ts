import { createHmac, timingSafeEqual } from 'node:crypto';
import type { ChargeChange, Delivery, DisputeChange, ParsedEvent, RefundChange } from '../reports.ts';
import { isFinal } from '../sending/outcomes.ts';
import { asObject, asText, type Json } from './api.ts';
import { paymentOutcome } from './charge.ts';
import { parsePaymentId } from './look-up.ts';
import { parseRefundId, refundState } from './refund.ts';

/** The settings of the webhook subscription at Square. */
interface Subscription {
  /** A signature by any of them is valid, so that they can be rotated. */
  readonly keys: readonly string[];
  /** Byte for byte as Square has it, because the signature covers it. */
  readonly url: string | undefined;
}

/**
 * Checks the signature over the notification URL and the bytes of the body, and parses the event
 * (https://developer.squareup.com/docs/webhooks/step3validate). The SDK's check does not take constant time.
 *
 * Square signs no timestamp, and delivers late for up to 24 h, so no event is rejected for its age. A replayed event does
 * no harm: it has the same id, and its content was true.
 */
export function readEvent({ keys, url }: Subscription, { headers, body }: Delivery): ParsedEvent {
  if (keys.length === 0 || url === undefined) return { kind: 'not_configured' };
  const signature = headers['x-square-hmacsha256-signature'];
  if (typeof signature !== 'string')
    return { kind: 'invalid_signature', detail: 'no x-square-hmacsha256-signature' };
  if (!keys.some((key) => isSignedBy(key, url, body, signature)))
    return {
      kind: 'invalid_signature',
      detail: 'the signature matches none of our keys, or is for another URL',
    };
  return parsed(body);
}

function isSignedBy(key: string, url: string, body: Buffer, signature: string): boolean {
  const expected = Buffer.from(createHmac('sha256', key).update(url).update(body).digest('base64'));
  const given = Buffer.from(signature);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** A signed event that differs from Square's documentation is irrelevant. */
function parsed(body: Buffer): ParsedEvent {
  const event = readJson(body);
  const id = asText(event.event_id);
  const happenedAt = Date.parse(asText(event.created_at) ?? '');
  const change = readChange(event);
  if (id === undefined || Number.isNaN(happenedAt) || change === undefined) return { kind: 'irrelevant' };
  return { kind: 'event', event: { id, happenedAt, change } };
}

function readJson(body: Buffer): Json {
  try {
    return asObject(JSON.parse(body.toString()));
  } catch {
    return {};
  }
}

/** https://developer.squareup.com/docs/webhooks/v2webhook-events-tech-ref */
function readChange(event: Json): ChargeChange | RefundChange | DisputeChange | undefined {
  const { payment, refund, dispute } = asObject(asObject(event.data).object);
  switch (event.type) {
    case 'payment.created':
    case 'payment.updated':
      return chargeChange(asObject(payment));
    case 'refund.created':
    case 'refund.updated':
      return refundChange(asObject(refund));
    case 'dispute.created':
    case 'dispute.state.updated':
      return disputeChange(asObject(dispute));
    default:
      return undefined;
  }
}

function chargeChange(payment: Json): ChargeChange | undefined {
  const paymentId = parsePaymentId(asText(payment.reference_id));
  const outcome = paymentOutcome(payment);
  if (paymentId === undefined || !isFinal(outcome)) return undefined;
  return { about: 'charge', paymentId, outcome };
}

function refundChange({ id, payment_id, status, reason, amount_money }: Json): RefundChange | undefined {
  const processorRefundId = asText(id);
  const chargeId = asText(payment_id);
  const amount = readAmount(amount_money);
  if (processorRefundId === undefined || chargeId === undefined || amount === undefined) return undefined;
  const refundId = parseRefundId(asText(reason));
  const state = refundState(asText(status));
  return { about: 'refund', chargeId, processorRefundId, refundId, amount, state };
}

/**
 * The states of a chargeback whose amount Square holds or has returned to the cardholder. `INQUIRY_…` holds nothing
 * (https://developer.squareup.com/docs/disputes-api/overview).
 */
const withdrawn: readonly string[] = ['EVIDENCE_REQUIRED', 'PROCESSING', 'LOST', 'ACCEPTED'];

/** Older events have the dispute's id in `dispute_id` (https://developer.squareup.com/reference/square/objects/Dispute). */
function disputeChange(dispute: Json): DisputeChange | undefined {
  const disputeId = asText(dispute.id) ?? asText(dispute.dispute_id);
  const chargeId = asText(asObject(dispute.disputed_payment).payment_id);
  const amount = readAmount(dispute.amount_money);
  const status = asText(dispute.state);
  if (disputeId === undefined || chargeId === undefined || amount === undefined || status === undefined)
    return undefined;
  const isWithdrawn = withdrawn.includes(status);
  const reason = asText(dispute.reason) ?? '';
  return { about: 'dispute', chargeId, disputeId, amount, status, reason, isWithdrawn };
}

function readAmount(money: unknown): number | undefined {
  const { amount } = asObject(money);
  return Number.isSafeInteger(amount) ? (amount as number) : undefined;
}
