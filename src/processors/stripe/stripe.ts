import type { Processor } from '../processor.ts';
import { charge, isSingleUse } from './charge.ts';
import { check } from './check.ts';
import { readEvent } from './event.ts';
import { charges, findCharge, findOwner } from './look-up.ts';
import { findRefund, refund } from './refund.ts';

export interface StripeSettings {
  readonly key: string;
  /** Origin of the API, for instance `https://api.stripe.com`. */
  readonly apiBase: string;
  /** Of the webhook endpoint; two while one takes the other's place. */
  readonly webhookSecrets: readonly string[];
}

/** The version this adapter was written and tried against; a new one is a change of its own. */
const apiVersion = '2026-10-28.endive';
/** Stripe forgets keys after 24 h at the earliest (https://docs.stripe.com/api/idempotent_requests). */
const keyLifeMs = 23 * 60 * 60 * 1_000;

/**
 * Stripe, by its official SDK. A card token becomes a PaymentMethod, and a PaymentIntent confirmed with it at once
 * makes the charge (https://docs.stripe.com/payments/accept-a-payment-synchronously); why not in one call, and why
 * the charge id is that of `latest_charge`, is told in docs/decisions/stripe-charges.md.
 *
 * The SDK's retries are off, but for one that it makes with the same key when a kept connection turns out to be
 * closed: asking again is the state machine's decision.
 */
export async function stripeProcessor({ key, apiBase, webhookSecrets }: StripeSettings): Promise<Processor> {
  const { Stripe: StripeClient } = await import('stripe');
  const { protocol, hostname, port } = new URL(apiBase);
  const client = new StripeClient(key, {
    apiVersion,
    protocol: protocol === 'http:' ? 'http' : 'https',
    host: hostname,
    port: port || (protocol === 'http:' ? 80 : 443),
    maxNetworkRetries: 0,
    telemetry: false,
  });
  return {
    name: 'stripe',
    keyLifeMs,
    isSingleUse,
    charge: (request) => charge(client, request),
    findCharge: (sought) => findCharge(client, sought),
    refund: (request) => refund(client, request),
    findRefund: (sought) => findRefund(client, sought),
    findOwner: (chargeId, timeoutMs) => findOwner(client, chargeId, timeoutMs),
    charges: (period) => charges(client, period),
    check: (timeoutMs) => check(client, timeoutMs),
    readEvent: async (delivery) => readEvent(client, webhookSecrets, delivery),
  };
}
