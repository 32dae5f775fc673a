import type { TestContext } from 'node:test';
import type { ConnectedProcessor, SoughtCharge } from '../../../src/processors/processor.ts';
import { stripeProcessor } from '../../../src/processors/stripe/stripe.ts';
import type { RefundFixture } from '../../contracts/processor-refunds.ts';
import type { ResendFixture } from '../../contracts/processor-resends.ts';
import { webhookSecret } from './events.ts';
import { wordsOfPairs } from './pairs.ts';
import { chargesOf, type ScriptedStripe, startScriptedStripe } from './scripted-stripe.ts';

/** The Stripe adapter, and the scripted Stripe that it calls. */
export interface StripeWithAdapter {
  readonly stripe: ScriptedStripe;
  readonly processor: ConnectedProcessor;
}

export async function openStripe(
  t: TestContext,
  webhookSecrets: readonly string[] = [webhookSecret],
): Promise<StripeWithAdapter> {
  const stripe = await startScriptedStripe(t);
  const { key, origin: apiBase } = stripe;
  return { stripe, processor: await stripeProcessor({ key, apiBase, webhookSecrets }) };
}

export async function stripeFixture(t: TestContext): Promise<RefundFixture> {
  return fixtureOf(await openStripe(t));
}

export async function stripeResendFixture(t: TestContext): Promise<ResendFixture> {
  const opened = await openStripe(t);
  const tokensOf = (call: 'intent' | 'refund') => wordsOfPairs(call).map((word) => `tok_${word}`);
  const arrivedAt = (path: string) =>
    opened.stripe.requests.filter((request) => request.method === 'POST' && request.path === path).length;
  return {
    ...fixtureOf(opened),
    lostThenRejected: { charges: tokensOf('intent'), refunds: tokensOf('refund') },
    arrivals: () => ({ charges: arrivedAt('/v1/payment_intents'), refunds: arrivedAt('/v1/refunds') }),
  };
}

function fixtureOf({ stripe, processor }: StripeWithAdapter): RefundFixture {
  return {
    processor,
    charges: () => chargesOf(stripe.records()),
    refunds: () =>
      stripe.records().refunds.map(({ id, charge, amount }) => ({
        processorRefundId: id,
        chargeId: charge,
        amount,
      })),
    repair: () => stripe.repair(),
    refundReplyLost: 'tok_refund_dropped',
    tokens: {
      paid: 'tok_paid',
      declined: 'tok_insufficient_funds',
      authenticationRequired: 'tok_authentication_required',
      unknown: 'tok_unknown',
      turnedAway: 'tok_rate_limited',
      replyLost: 'tok_dropped_after_charging',
      neverReplies: 'tok_never_replies',
    },
  };
}

/** The look-up of a charge that was requested just now. */
export function soughtNow(paymentId: string, fields: Partial<SoughtCharge> = {}): SoughtCharge {
  const now = Date.now();
  return { paymentId, requestedFrom: now - 5_000, requestedUntil: now + 5_000, timeoutMs: 5_000, ...fields };
}
