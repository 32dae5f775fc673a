import type { Stripe } from 'stripe';
import { inTime } from '../in-time.ts';
import type { ChargeOutcome, ChargeRequest } from '../processor.ts';
import { stripeAmount } from './amount.ts';
import { detailOf, isDefiniteRefusal, wasTurnedAway } from './errors.ts';

/** The key in Stripe's metadata under which our payment id stands. */
export const paymentIdKey = 'counterfoil_payment_id';

/** The time-out is ours as well as the SDK's, which counts anew when it opens another connection. */
export async function charge(client: Stripe, request: ChargeRequest): Promise<ChargeOutcome> {
  const deadline = Date.now() + request.timeoutMs;
  const amount = stripeAmount(request.amount, request.currency);
  if (amount === undefined) return amountNotCounted(request.currency);
  const method = await inTime(paymentMethodOf(client, request), request.timeoutMs, {
    kind: 'not_taken',
    detail: 'no payment method in time',
  });
  if (method.kind !== 'method') return method;
  const timeoutMs = Math.max(1, deadline - Date.now());
  const outcome = await inTime(
    confirmedIntent(client, request, method.id, amount, timeoutMs),
    timeoutMs,
    unknown('no reply in time'),
  );
  // The token is used up: only this payment, with its key, can still be charged. So it must not be given up.
  return outcome.kind === 'not_taken' && isSingleUse(request.token) ? unknown(outcome.detail) : outcome;
}

/** Tokens made from a card are `tok_` and 20 or more letters and digits; the named test tokens can be used again. */
export function isSingleUse(token: string): boolean {
  return /^tok_(?!threeDSecure)(?=[A-Za-z]*[0-9])[A-Za-z0-9]{20,}$/.test(token);
}

function unknown(detail: string): ChargeOutcome {
  return { kind: 'unknown', detail };
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
        metadata: { [paymentIdKey]: paymentId },
      },
      { idempotencyKey: processorKey, timeout: timeoutMs },
    );
    return outcomeOfIntent(intent);
  } catch (error) {
    return outcomeOfError(error);
  }
}

export function outcomeOfIntent(intent: Stripe.PaymentIntent): ChargeOutcome {
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

function outcomeOfError(error: unknown): ChargeOutcome {
  const { statusCode, code, decline_code, param } = error as Partial<Stripe.errors.StripeError>;
  const detail = detailOf(error);
  if (statusCode === 402) return declined(decline_code || code || 'generic_decline');
  if (wasTurnedAway(error)) return { kind: 'not_taken', detail };
  if (!isDefiniteRefusal(error)) return { kind: 'unknown', detail };
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
