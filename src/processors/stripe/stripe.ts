import type { Stripe } from 'stripe';
import type { ConnectedProcessor } from '../processor.ts';
import { Throttle } from '../sending/pace.ts';
import { Sends } from '../sending/sends.ts';
import { SharedListing } from '../sending/shared-listing.ts';
import { account } from './account.ts';
import { cancelCharge, workMsMax } from './cancel.ts';
import { charge, isSingleUse } from './charge.ts';
import { check } from './check.ts';
import { detailOf } from './errors.ts';
import { readEvent } from './event.ts';
import { stripeHttpClient } from './http-client.ts';
import { charges, findCharge, findOwner, type Intents, intentsOf, openAttempts } from './look-up.ts';
import { findRefund, refund } from './refund.ts';

export interface StripeSettings {
  readonly key: string;
  /** Origin of the API, for instance `https://api.stripe.com`. */
  readonly apiBase: string;
  /** Secrets of the webhook endpoint; two during a rotation. */
  readonly webhookSecrets: readonly string[];
  /** Number of processes that share `recoveryCallsPerSecondMax`; 1 by default. */
  readonly processes?: number;
}

/** The version that this adapter is written for and tested with. Upgrade it in a separate change. */
const apiVersion = '2026-10-28.endive';
/** Stripe forgets keys after 24 h at the earliest (https://docs.stripe.com/api/idempotent_requests). */
const keyLifeMs = 23 * 60 * 60 * 1_000;
/**
 * Recovery's rate for all processes on one machine together. Stripe allows 100 calls a second in live mode and 25 in a
 * sandbox (https://docs.stripe.com/rate-limits); buyers need most of them.
 */
const recoveryCallsPerSecondMax = 20;

/**
 * Stripe, by its official SDK. A card token becomes a PaymentMethod; a PaymentIntent that confirms it at once makes the
 * charge (https://docs.stripe.com/payments/accept-a-payment-synchronously). docs/decisions/stripe-charges.md says why
 * this takes two calls, and why the charge id is that of `latest_charge`.
 *
 * The SDK's retries are off, and its one hidden retry cannot happen (`http-client.ts`): the state machine decides on
 * retries.
 */
export async function stripeProcessor(settings: StripeSettings): Promise<ConnectedProcessor> {
  const { key, apiBase, webhookSecrets, processes = 1 } = settings;
  const { Stripe: StripeClient } = await import('stripe');
  const { protocol, hostname, port } = new URL(apiBase);
  const sends = new Sends();
  const clientOf = (pace?: Throttle): Stripe =>
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
  const recovery = clientOf(new Throttle(recoveryCallsPerSecondMax / processes));
  const clientFor = ({ isRecovery }: { readonly isRecovery?: boolean }) => (isRecovery ? recovery : buyers);
  const intents: Intents = new SharedListing({
    list: (period) => intentsOf(recovery, period),
    // A payment has only one intent.
    weight: () => 2,
    detailOf,
  });
  return {
    name: 'stripe',
    movesMoney: true,
    keyLifeMs,
    cancelMsMax: workMsMax,
    isSingleUse,
    charge: (request) => charge(clientFor(request), sends, request),
    findCharge: (sought) => findCharge(recovery, intents, sought),
    cancelCharge: (canceled) => cancelCharge(canceled.isUrgent ? buyers : recovery, intents, canceled),
    refund: (request) => refund(clientFor(request), sends, request),
    findRefund: (sought) => findRefund(recovery, sought),
    findOwner: (chargeId, timeoutMs) => findOwner(buyers, chargeId, timeoutMs),
    charges: (period) => charges(recovery, period),
    openAttempts: (period) => openAttempts(recovery, period),
    account: (timeoutMs) => account(buyers, key, timeoutMs),
    check: (timeoutMs) => check(buyers, timeoutMs),
    readEvent: async (delivery) => readEvent(buyers, webhookSecrets, delivery),
  };
}
