import type { Stripe } from 'stripe';
import { inTime } from './in-time.ts';
import type { ChargeOutcome, ChargeRequest, Processor } from './processor.ts';
import { stripeAmount } from './stripe-amount.ts';

export interface StripeSettings {
  readonly key: string;
  /** Origin of the API, for instance `https://api.stripe.com`. */
  readonly apiBase: string;
}

/** The version this adapter was written and tried against; a new one is a change of its own. */
const apiVersion = '2026-10-28.endive';

/**
 * Stripe, by its official SDK. A card token becomes a PaymentMethod, and a PaymentIntent confirmed with it at once
 * makes the charge (https://docs.stripe.com/payments/accept-a-payment-synchronously); why not in one call, and why
 * the charge id is that of `latest_charge`, is told in docs/decisions/stripe-charges.md.
 *
 * The SDK's retries are off, but for one that it makes with the same key when a kept connection turns out to be
 * closed: asking again is the state machine's decision.
 */
export async function stripeProcessor({ key, apiBase }: StripeSettings): Promise<Processor> {
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
    isSingleUse: isSingleUseToken,
    charge: (request) => charge(client, request),
  };
}

/** Tokens made from a card are `tok_` and 20 or more letters and digits; the named test tokens can be used again. */
function isSingleUseToken(token: string): boolean {
  return /^tok_(?!threeDSecure)(?=[A-Za-z]*[0-9])[A-Za-z0-9]{20,}$/.test(token);
}

/** The time-out is ours as well as the SDK's, which counts anew when it opens another connection. */
async function charge(client: Stripe, request: ChargeRequest): Promise<ChargeOutcome> {
  const deadline = Date.now() + request.timeoutMs;
  const amount = stripeAmount(request.amount, request.currency);
  if (amount === undefined) return amountNotCounted(request.currency);
  const method = await inTime(paymentMethodOf(client, request), request.timeoutMs, {
    kind: 'not_taken',
    detail: 'no payment method in time',
  });
  if (method.kind !== 'method') return method;
  const timeoutMs = Math.max(1, deadline - Date.now());
  return inTime(confirmedIntent(client, request, method.id, amount, timeoutMs), timeoutMs, {
    kind: 'unknown',
    detail: 'no reply in time',
  });
}

function amountNotCounted(currency: string): ChargeOutcome {
  const message = `Stripe counts ${currency} in whole units alone; nothing was charged.`;
  return { kind: 'refused', param: 'amount', message, detail: 'amount not told in whole units' };
}

type PaymentMethod = { readonly kind: 'method'; readonly id: string };

/** What newer front ends send is a PaymentMethod already (`pm_…`). */
async function paymentMethodOf(
  client: Stripe,
  { token, processorKey, timeoutMs }: ChargeRequest,
): Promise<PaymentMethod | ChargeOutcome> {
  if (token.startsWith('pm_')) return { kind: 'method', id: token };
  try {
    const { id } = await client.paymentMethods.create(
      { type: 'card', card: { token } },
      { idempotencyKey: `${processorKey}-method`, timeout: timeoutMs },
    );
    return { kind: 'method', id };
  } catch (error) {
    const outcome = outcomeOfError(error);
    // No charge has been asked for yet, so that not even a lost reply leaves a doubt.
    return outcome.kind === 'unknown' ? { kind: 'not_taken', detail: outcome.detail } : outcome;
  }
}

async function confirmedIntent(
  client: Stripe,
  { currency, paymentId, processorKey }: ChargeRequest,
  paymentMethod: string,
  amount: number,
  timeoutMs: number,
): Promise<ChargeOutcome> {
  try {
    const intent = await client.paymentIntents.create(
      {
        amount,
        currency: currency.toLowerCase(),
        payment_method: paymentMethod,
        allowed_payment_method_types: ['card'],
        confirm: true,
        error_on_requires_action: true,
        metadata: { counterfoil_payment_id: paymentId },
      },
      { idempotencyKey: processorKey, timeout: timeoutMs },
    );
    return outcomeOfIntent(intent);
  } catch (error) {
    return outcomeOfError(error);
  }
}

function outcomeOfIntent(intent: Stripe.PaymentIntent): ChargeOutcome {
  const charge = intent.latest_charge;
  const chargeId = typeof charge === 'string' ? charge : charge?.id;
  if (intent.status === 'succeeded' && chargeId !== undefined) return { kind: 'succeeded', chargeId };
  if (intent.status === 'requires_payment_method' || intent.status === 'canceled') {
    const failure = intent.last_payment_error;
    return declined(failure?.decline_code || failure?.code || 'generic_decline');
  }
  if (intent.status === 'requires_action') return declined('authentication_required');
  return { kind: 'unknown', detail: `the PaymentIntent is ${intent.status}` };
}

/** The HTTP status decides (https://docs.stripe.com/api/errors); the error's own words only say why. */
function outcomeOfError(error: unknown): ChargeOutcome {
  const { statusCode, type, code, decline_code, param } = error as Partial<Stripe.errors.StripeError>;
  const detail = [type ?? 'not a Stripe error', statusCode, code]
    .filter((part) => part !== undefined)
    .join(' ');
  if (statusCode === 402) return declined(decline_code || code || 'generic_decline');
  if (statusCode === 401 || statusCode === 403 || statusCode === 429) return { kind: 'not_taken', detail };
  // 409 and a misused key speak of another request under the same key, which may have charged.
  if (statusCode === undefined || statusCode === 409 || statusCode >= 500) return { kind: 'unknown', detail };
  if (type === 'StripeIdempotencyError') return { kind: 'unknown', detail };
  const field = fieldOf(param);
  const message = `Stripe refused the ${field ?? 'charge'}${code === undefined ? '' : ` (${code})`}; nothing was charged.`;
  return { kind: 'refused', ...(field === undefined ? {} : { param: field }), message, detail };
}

function fieldOf(param: string | undefined): 'amount' | 'currency' | 'token' | undefined {
  if (param === 'amount' || param === 'currency') return param;
  if (param === 'payment_method' || param === 'token' || param === 'card[token]') return 'token';
  return undefined;
}

function declined(declineCode: string): ChargeOutcome {
  return { kind: 'declined', declineCode, authenticationRequired: declineCode === 'authentication_required' };
}
