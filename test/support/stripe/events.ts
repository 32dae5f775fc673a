import { createHash, createHmac } from 'node:crypto';
import type { Delivery } from '../../../src/processors/reports.ts';
import type { Charge, Dispute, Intent, Refund, StripeRecords } from './objects.ts';

export interface StripeEvent {
  readonly id: string;
  readonly object: 'event';
  readonly api_version: string;
  readonly created: number;
  readonly type: string;
  readonly livemode: boolean;
  readonly data: { readonly object: unknown };
}

/** The signing secret of the scripted webhook endpoint. */
export const webhookSecret = 'whsec_scripted0123456789';

/** An event as https://docs.stripe.com/api/events/object describes it; the same change has the same event id. */
export function eventOf(
  type: string,
  object: { readonly id: string; readonly created: number },
  fields: Partial<StripeEvent> = {},
): StripeEvent {
  const digest = createHash('sha256')
    .update(JSON.stringify([type, object]))
    .digest('hex');
  return {
    id: `evt_3${digest.slice(0, 24)}`,
    object: 'event',
    api_version: '2026-10-28.endive',
    created: object.created,
    type,
    livemode: false,
    data: { object },
    ...fields,
  };
}

/** The events of all of Stripe's records, oldest first of each kind. */
export function eventsOf({ intents, refunds }: StripeRecords): StripeEvent[] {
  return [...intents.flatMap(intentEvents), ...refunds.flatMap(refundEvents)];
}

function intentEvents(intent: Intent): StripeEvent[] {
  const type = {
    succeeded: 'payment_intent.succeeded',
    requires_payment_method: 'payment_intent.payment_failed',
    processing: 'payment_intent.processing',
    requires_action: 'payment_intent.requires_action',
    requires_confirmation: 'payment_intent.created',
    canceled: 'payment_intent.canceled',
  }[intent.status];
  return [eventOf(type, intent)];
}

function refundEvents(refund: Refund): StripeEvent[] {
  const pending: Refund = { ...refund, status: 'pending' };
  const made = eventOf('refund.created', pending);
  if (refund.status === 'pending') return [made];
  const last = refund.status === 'failed' ? 'refund.failed' : 'refund.updated';
  return [made, eventOf(last, refund)];
}

export function disputeOf(charge: Charge, fields: Partial<Dispute> = {}): Dispute {
  return {
    id: `dp_3${charge.id.slice(4)}`,
    object: 'dispute',
    amount: charge.amount,
    currency: charge.currency,
    status: 'needs_response',
    reason: 'fraudulent',
    created: charge.created,
    metadata: {},
    charge: charge.id,
    payment_intent: charge.payment_intent,
    ...fields,
  };
}

export interface Signing {
  /** Stripe signs with both secrets while one replaces the other. */
  readonly secrets?: readonly string[];
  /** Milliseconds since 1970. */
  readonly signedAt?: number;
  readonly receivedAt?: number;
}

/** An event, or any text, as Stripe posts it to a webhook endpoint. */
export function deliveryOf(
  event: StripeEvent | string,
  { secrets = [webhookSecret], signedAt = Date.now(), receivedAt = signedAt }: Signing = {},
): Delivery {
  const body = Buffer.from(typeof event === 'string' ? event : JSON.stringify(event, null, 2));
  const seconds = Math.floor(signedAt / 1_000);
  const signatures = secrets.map((secret) => `v1=${signature(seconds, body, secret)}`);
  const header = [`t=${seconds}`, ...signatures, `v0=${signature(seconds, body, 'test clock')}`].join(',');
  const headers = { 'content-type': 'application/json; charset=utf-8', 'stripe-signature': header };
  return { headers, body, receivedAt };
}

/** https://docs.stripe.com/webhooks#verify-manually */
function signature(seconds: number, body: Buffer, secret: string): string {
  return createHmac('sha256', secret).update(`${seconds}.`).update(body).digest('hex');
}

/** A delivery that is signed without knowledge of the secret. */
export function signedWithWrongSecret(event: StripeEvent): Delivery {
  return deliveryOf(event, { secrets: ['whsec_wrong'] });
}

/** A delivery with one changed bit in its body. */
export function withBitTurned(delivery: Delivery, at: number): Delivery {
  const body = Buffer.from(delivery.body);
  body[at] = (body[at] ?? 0) ^ 1;
  return { ...delivery, body };
}

/** Posts a delivery. @returns the status of the response */
export async function post(url: string, { headers, body }: Delivery): Promise<number> {
  const posted = Object.entries(headers).map(([name, value]) => [name, String(value)] as [string, string]);
  const response = await fetch(url, { method: 'POST', headers: posted, body: new Uint8Array(body) });
  await response.arrayBuffer();
  return response.status;
}
