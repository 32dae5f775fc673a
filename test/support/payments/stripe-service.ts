import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { givenUpMs } from '../busy-machine.ts';
import { newDataFolder, startTestService, type TestService, type TestServiceOptions } from '../service.ts';
import { webhookSecret } from '../stripe/events.ts';
import { type ScriptedStripe, startScriptedStripe } from '../stripe/scripted-stripe.ts';

export const path = '/stage/payment/stripe/charge';
export const chargeRequest = { amount: 1_050, currency: 'EUR' };

export interface StripeService {
  readonly stripe: ScriptedStripe;
  readonly service: TestService;
  /** Moves the clock of the service forward. */
  readonly clock: { aheadMs: number };
}

/** A service whose processor is the scripted Stripe, and whose clock a test can move forward. */
export async function startWithStripe(
  t: TestContext,
  { stripe: given, ...options }: TestServiceOptions & { readonly stripe?: ScriptedStripe } = {},
): Promise<StripeService> {
  const stripe = given ?? (await startScriptedStripe(t));
  const clock = { aheadMs: 0 };
  const service = await startTestService(t, {
    data: newDataFolder(t),
    now: () => Date.now() + clock.aheadMs,
    ...options,
    env: {
      COUNTERFOIL_STRIPE_KEY: stripe.key,
      COUNTERFOIL_STRIPE_API_BASE: stripe.origin,
      COUNTERFOIL_STRIPE_WEBHOOK_SECRETS: webhookSecret,
      ...options.env,
    },
  });
  return { stripe, service, clock };
}

/** The number of requests to Stripe for a charge. */
export function chargesRequested({ requests }: ScriptedStripe): number {
  return requests.filter(
    ({ method, path: asked, fields }) =>
      method === 'POST' && asked === '/v1/payment_intents' && fields.confirm === 'true',
  ).length;
}

/** The payment, once it has left these states. */
export async function paymentAfter(service: TestService, at: string, states: readonly string[]) {
  const giveUpAt = Date.now() + givenUpMs;
  for (;;) {
    const payment = (await service.get(at)).json.body;
    if (!states.includes(payment.status)) return payment;
    assert.ok(Date.now() < giveUpAt, `it is still ${payment.status}`);
    await sleep(50);
  }
}

/** Sends the first request for a PaymentIntent once more, as a gateway that had held it back would. */
export async function resendFirstIntent(stripe: ScriptedStripe): Promise<Response> {
  const first = stripe.requests.find(({ path: requested }) => requested === '/v1/payment_intents');
  return fetch(`${stripe.origin}/v1/payment_intents`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${stripe.key}`,
      'content-type': 'application/x-www-form-urlencoded',
      'stripe-version': '2026-10-28.endive',
      'idempotency-key': String(first?.headers['idempotency-key']),
    },
    body: new URLSearchParams(first?.fields as Record<string, string>),
  });
}
