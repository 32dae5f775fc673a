import type { Stripe } from 'stripe';
import type { Processor } from '../processor.ts';
import { Pace } from '../sending/pace.ts';
import { Sends } from '../sending/sends.ts';
import { SharedListing } from '../sending/shared-listing.ts';
import { account } from './account.ts';
import { cancelCharge } from './cancel.ts';
import { charge, isSingleUse } from './charge.ts';
import { check } from './check.ts';
import { detailOf } from './errors.ts';
import { readEvent } from './event.ts';
import { stripeHttpClient } from './http-client.ts';
import { charges, findCharge, findOwner, type Intents, intentsOf } from './look-up.ts';
import { findRefund, refund } from './refund.ts';

export interface StripeSettings {
  readonly key: string;
  /** Origin of the API, for instance `https://api.stripe.com`. */
  readonly apiBase: string;
  /** Of the webhook endpoint; two while one takes the other's place. */
  readonly webhookSecrets: readonly string[];
  /** Processes that share `recoveryCallsPerSecondMax`; one without it. */
  readonly processes?: number;
}

/** The version this adapter was written and tried against; a new one is a change of its own. */
const apiVersion = '2026-10-28.endive';
/** Stripe forgets keys after 24 h at the earliest (https://docs.stripe.com/api/idempotent_requests). */
const keyLifeMs = 23 * 60 * 60 * 1_000;
/**
 * Of all processes of recovery on one machine. Stripe allows 100 calls a second in live mode and 25 in a sandbox
 * (https://docs.stripe.com/rate-limits); buyers need most of them.
 */
const recoveryCallsPerSecondMax = 20;

/**
 * Stripe, by its official SDK. A card token becomes a PaymentMethod, and a PaymentIntent confirmed with it at once
 * makes the charge (https://docs.stripe.com/payments/accept-a-payment-synchronously); why not in one call, and why
 * the charge id is that of `latest_charge`, is told in docs/decisions/stripe-charges.md.
 *
 * The SDK's retries are off, and its one hidden retry cannot happen (`http-client.ts`): asking again is the state machine's
 * decision.
 */
export async function stripeProcessor(settings: StripeSettings): Promise<Processor> {
  const { key, apiBase, webhookSecrets, processes = 1 } = settings;
  const { Stripe: StripeClient } = await import('stripe');
  const { protocol, hostname, port } = new URL(apiBase);
  const sends = new Sends();
  const clientOf = (pace?: Pace): Stripe =>
    new StripeClient(key, {
      apiVersion,
      protocol: protocol === 'http:' ? 'http' : 'https',
      host: hostname,
      port: port || (protocol === 'http:' ? 80 : 443),
      httpClient: stripeHttpClient({ sends, pace }),
      maxNetworkRetries: 0,
      telemetry: false,
    });
  const buyers = clientOf();
  const recovery = clientOf(new Pace(recoveryCallsPerSecondMax / processes));
  const clientFor = ({ isRecovery }: { readonly isRecovery?: boolean }) => (isRecovery ? recovery : buyers);
  const intents: Intents = new SharedListing({
    list: (period) => intentsOf(recovery, period),
    // A payment has one intent.
    weight: () => 2,
    detailOf,
  });
  return {
    name: 'stripe',
    keyLifeMs,
    isSingleUse,
    charge: (request) => charge(clientFor(request), sends, request),
    findCharge: (sought) => findCharge(recovery, intents, sought),
    cancelCharge: (canceled) => cancelCharge(recovery, intents, canceled),
    refund: (request) => refund(clientFor(request), sends, request),
    findRefund: (sought) => findRefund(recovery, sought),
    findOwner: (chargeId, timeoutMs) => findOwner(buyers, chargeId, timeoutMs),
    charges: (period) => charges(recovery, period),
    account: (timeoutMs) => account(buyers, timeoutMs),
    check: (timeoutMs) => check(buyers, timeoutMs),
    readEvent: async (delivery) => readEvent(buyers, webhookSecrets, delivery),
  };
}
