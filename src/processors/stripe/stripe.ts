import type { Stripe } from 'stripe';
import type { ConnectedProcessor } from '../processor.ts';
import { Sends, sendOnce } from '../sending/send-once.ts';
import { SharedListing } from '../sending/shared-listing.ts';
import { Throttle } from '../sending/throttle.ts';
import { account, charges, check, findOwner, openAttempts } from './account.ts';
import { cancelCharge, workMsMax } from './cancel.ts';
import { charge, isSingleUse } from './charge.ts';
import { errorDetail } from './errors.ts';
import { readEvent } from './event.ts';
import { findCharge, type Intents, identifiedIntents } from './look-up.ts';
import { findRefund, refund } from './refund.ts';

interface StripeSettings {
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
 * The SDK's retries are off, and its one hidden retry cannot happen (`stripeHttpClient`): the state machine decides on
 * retries.
 */
export async function stripeProcessor(settings: StripeSettings): Promise<ConnectedProcessor> {
  const { key, apiBase, webhookSecrets, processes = 1 } = settings;
  const { Stripe: StripeClient } = await import('stripe');
  const { protocol, hostname, port } = new URL(apiBase);
  const sends = new Sends();
  const newClient = (throttle?: Throttle): Stripe =>
    new StripeClient(key, {
      apiVersion,
      protocol: protocol === 'http:' ? 'http' : 'https',
      host: hostname,
      port: port || (protocol === 'http:' ? 80 : 443),
      httpClient: stripeHttpClient({ sends, throttle }),
      maxNetworkRetries: 0,
      telemetry: false,
    });
  const buyers = newClient();
  const recovery = newClient(new Throttle(recoveryCallsPerSecondMax / processes));
  const clientFor = ({ isRecovery }: { readonly isRecovery?: boolean }) => (isRecovery ? recovery : buyers);
  const intents: Intents = new SharedListing({
    list: (period) => identifiedIntents(recovery, period),
    // A payment has only one intent.
    weight: () => 2,
    errorDetail,
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

interface ClientOptions {
  readonly sends: Sends;
  /** Only for recovery: a buyer's charge does not wait. */
  readonly throttle?: Throttle | undefined;
}

type Headers = Readonly<Record<string, string | number | string[]>>;

/**
 * The HTTP client below Stripe's SDK. The SDK's default client resends a request once after ECONNRESET and EPIPE, even
 * with `maxNetworkRetries: 0` (`_shouldRetry` in its RequestSender). If Stripe then rejects the second request, a charge
 * that was made looks like one that was not. The errors of `sendOnce` have no code that the SDK resends after, and every
 * send is counted.
 */
function stripeHttpClient({ sends, throttle }: ClientOptions) {
  return {
    getClientName: () => 'counterfoil',
    makeRequest: async (
      host: string,
      port: string,
      path: string,
      method: string,
      headers: Headers,
      requestData: string,
      protocol: string,
      timeoutMs: number,
    ) => {
      const key = headers['Idempotency-Key'];
      if (typeof key === 'string') sends.count(key);
      const url = new URL(`${protocol}://${host}:${port}${path}`);
      const sent = headers as Readonly<Record<string, string | number>>;
      const reply = await sendOnce(
        { url, method, headers: sent, body: requestData || undefined, timeoutMs },
        throttle,
      );
      return {
        getStatusCode: () => reply.status,
        getHeaders: () => reply.headers as Record<string, string>,
        getRawResponse: () => ({}),
        toStream: () => {
          throw new Error('streamed replies are not supported');
        },
        toJSON: async () => JSON.parse(reply.text),
      };
    },
  };
}
