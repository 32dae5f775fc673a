import { setTimeout as sleep } from 'node:timers/promises';
import type { Stripe } from 'stripe';
import { defined } from '../../defined.ts';
import {
  type ChargeOutcome,
  type ChargeParam,
  type ChargeRequest,
  type RequiresAction,
  requestText,
} from '../processor.ts';
import type { Succeeded } from '../reports.ts';
import { declined, inTime, rejectedCharge } from '../sending/outcomes.ts';
import type { Sends } from '../sending/send-once.ts';
import { amountProblem, isoAmount, stripeAmount } from './amount.ts';
import { errorDetail, isDefiniteRejection, isServerError, wasTurnedAway } from './errors.ts';

/** The key of our payment id in Stripe's metadata. */
export const paymentIdKey = 'counterfoil_payment_id';

/**
 * The key of `requestText` in the metadata, by which a store that was restored without the payment recognizes its idempotency
 * key.
 */
export const requestKey = 'counterfoil_request';
/** Stripe's limit; one is our payment id. */
const metadataKeysMax = 50;

/** Exchanging a token charges nothing, and its idempotency key makes a retry safe: a lost reply costs no token. */
const methodTriesMax = 3;
const methodPauseMs = 100;
/** Stripe replies within seconds, and the cancellation only tidies the dashboard. */
const tidyMsMax = 10_000;

/** Limits the time of both calls together: the SDK's time-out restarts with each call. */
export async function charge(client: Stripe, sends: Sends, request: ChargeRequest): Promise<ChargeOutcome> {
  const deadline = performance.now() + request.timeoutMs;
  const problem = amountProblem(request.amount, request.currency);
  if (problem !== undefined) return { kind: 'rejected', param: 'amount', ...problem };
  const method = await inTime(exchangeToken(client, request), request.timeoutMs, {
    kind: 'not_attempted',
    detail: 'no payment method in time',
  });
  if (method.kind !== 'method') return method;
  const timeoutMs = Math.max(1, deadline - performance.now());
  return inTime(
    sends.only(request.processorKey, () => confirmedIntent(client, request, method.id, timeoutMs)),
    timeoutMs,
    { kind: 'unknown', detail: 'no reply in time' },
  );
}

/** A token made from a card is `tok_` and 20 or more letters and digits. The named test tokens are reusable. */
export function isSingleUse(token: string): boolean {
  return /^tok_(?!threeDSecure)(?=[A-Za-z]*[0-9])[A-Za-z0-9]{20,}$/.test(token);
}

type PaymentMethod = { readonly kind: 'method'; readonly id: string };

/** Newer front ends send a PaymentMethod (`pm_…`), which needs no exchange. */
async function exchangeToken(client: Stripe, request: ChargeRequest): Promise<PaymentMethod | ChargeOutcome> {
  const { token, tokenKey, timeoutMs } = request;
  if (token.startsWith('pm_')) return { kind: 'method', id: token };
  const deadline = performance.now() + timeoutMs;
  let keysSpent = 0;
  for (let tries = 1; ; tries++) {
    const idempotencyKey = keysSpent === 0 ? tokenKey : `${tokenKey}-${keysSpent}`;
    const timeout = Math.max(1, deadline - performance.now());
    try {
      const method = { type: 'card', card: { token } } as const;
      const { id } = await client.paymentMethods.create(method, { idempotencyKey, timeout });
      return { kind: 'method', id };
    } catch (error) {
      const outcome = failureOutcome(error);
      if (outcome.kind !== 'unknown') return outcome;
      // Stripe stores its server errors under the key for a day, so that a retry needs a new key; a lost reply does not.
      if (isServerError(error)) keysSpent++;
      // No charge has been requested yet, so even a lost reply leaves no doubt.
      const isLast = tries === methodTriesMax || performance.now() + methodPauseMs >= deadline;
      if (isLast) return { kind: 'not_attempted', detail: outcome.detail };
    }
    await sleep(methodPauseMs * tries);
  }
}

async function confirmedIntent(
  client: Stripe,
  request: ChargeRequest,
  paymentMethod: string,
  timeout: number,
): Promise<ChargeOutcome> {
  const { amount, currency, processorKey } = request;
  try {
    const intent = await client.paymentIntents.create(
      {
        amount: stripeAmount(amount, currency),
        currency: currency.toLowerCase(),
        payment_method: paymentMethod,
        allowed_payment_method_types: ['card'],
        confirm: true,
        ...authenticationParameters(request.returnUrl),
        metadata: stripeMetadata(request),
        ...chargeDetails(request),
      },
      { idempotencyKey: processorKey, timeout },
    );
    return intentOutcome(intent);
  } catch (error) {
    cancelOpenIntent(client, error);
    return failureOutcome(error);
  }
}

/**
 * Without authentication the intent waits for another card. Only this service could confirm it, and never will: canceling it
 * tidies the dashboard. The decline is certain without the cancellation, so no caller waits for it.
 */
function cancelOpenIntent(client: Stripe, error: unknown): void {
  const { code, payment_intent: intent } = error as Partial<Stripe.errors.StripeError>;
  if (code !== 'authentication_required' || intent === undefined) return;
  client.paymentIntents.cancel(intent.id, {}, { timeout: tidyMsMax }).catch(() => undefined);
}

/** Stripe removes a key with an empty value. The metadata of the shop takes precedence over what only a restored store needs. */
function stripeMetadata({ metadata = {}, paymentId, request }: ChargeRequest): Record<string, string> {
  const sent = Object.entries(metadata).filter(([, value]) => value !== '');
  const hasRoom = sent.length + 1 < metadataKeysMax;
  return {
    ...Object.fromEntries(sent),
    [paymentIdKey]: paymentId,
    ...(request === undefined || !hasRoom ? {} : { [requestKey]: requestText(request) }),
  };
}

function chargeDetails({ description, statementDescriptorSuffix, receiptEmail }: ChargeRequest) {
  return defined({
    description,
    statement_descriptor_suffix: statementDescriptorSuffix,
    receipt_email: receiptEmail,
  });
}

export function intentOutcome(intent: Stripe.PaymentIntent): ChargeOutcome {
  const charge = intent.latest_charge;
  const chargeId = typeof charge === 'string' ? charge : charge?.id;
  if (intent.status === 'succeeded' && chargeId !== undefined)
    return { kind: 'succeeded', chargeId, ...takenMoney(intent) };
  if (intent.status === 'requires_payment_method' || intent.status === 'canceled') {
    const failure = intent.last_payment_error;
    return declined(failure?.decline_code || failure?.code || 'generic_decline', openAttemptId(intent));
  }
  if (intent.status === 'requires_action')
    return requiredAction(intent) ?? declined('authentication_required', openAttemptId(intent));
  return { kind: 'unknown', detail: `the PaymentIntent is ${intent.status}` };
}

/** Empty for an intent without an amount, which must not turn a success into an error. */
function takenMoney({ amount_received, currency }: Partial<Stripe.PaymentIntent>): Pick<Succeeded, 'taken'> {
  if (amount_received === undefined || currency === undefined) return {};
  const code = currency.toUpperCase();
  return { taken: { amount: isoAmount(amount_received, code), currency: code } };
}

function failureOutcome(error: unknown): ChargeOutcome {
  const { statusCode, code, decline_code, param, payment_intent } =
    error as Partial<Stripe.errors.StripeError>;
  const detail = errorDetail(error);
  if (statusCode === 402)
    return declined(decline_code || code || 'generic_decline', openAttemptId(payment_intent));
  if (wasTurnedAway(error)) return { kind: 'not_attempted', detail };
  if (!isDefiniteRejection(error)) return { kind: 'unknown', detail };
  return rejectedCharge({ by: 'Stripe', code, detail }, chargeParam(param));
}

const sameNames = [
  'amount',
  'currency',
  'description',
  'statement_descriptor_suffix',
  'receipt_email',
] as const;

function chargeParam(param: string | undefined): ChargeParam | undefined {
  const same = sameNames.find((name) => name === param);
  if (same !== undefined) return same;
  if (param?.startsWith('metadata')) return 'metadata';
  if (param === 'payment_method' || param === 'token' || param === 'card[token]') return 'token';
  return undefined;
}

/** A declined intent accepts another card until it is canceled (https://docs.stripe.com/payments/paymentintents/lifecycle). */
function openAttemptId(intent: Stripe.PaymentIntent | undefined): string | undefined {
  return intent?.status === 'canceled' ? undefined : intent?.id;
}

/**
 * The parameters that decide what happens when the cardholder's bank requires authentication: the intent waits for the
 * cardholder, or, when they cannot come back, it fails at once.
 */
function authenticationParameters(
  returnUrl: string | undefined,
): Pick<Stripe.PaymentIntentCreateParams, 'return_url' | 'error_on_requires_action'> {
  return returnUrl === undefined ? { error_on_requires_action: true } : { return_url: returnUrl };
}

/**
 * What the cardholder must do next (https://docs.stripe.com/api/payment_intents/object#payment_intent_object-next_action):
 * go to the bank's page, or let Stripe.js show it by the client secret. Undefined if the intent names no page, as without a
 * `return_url`.
 */
export function requiredAction({
  id,
  status,
  next_action: next,
  client_secret: secret,
}: Stripe.PaymentIntent): RequiresAction | undefined {
  const url = next?.redirect_to_url?.url;
  if (status !== 'requires_action' || typeof url !== 'string') return undefined;
  const shown = secret === null ? {} : { client_secret: secret };
  return { kind: 'requires_action', attemptId: id, action: { type: 'redirect', url, ...shown } };
}
