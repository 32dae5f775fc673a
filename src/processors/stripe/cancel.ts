import type { Stripe } from 'stripe';
import { inTime } from '../in-time.ts';
import type { CanceledCharge, CancelOutcome, Unknown } from '../processor.ts';
import { detailOf, isOfAnotherRequest } from './errors.ts';
import { findIntent, type Intents, outcomeOfFound, pageMsMax } from './look-up.ts';

/** In Stripe's metadata, the payment for whose charge a key was taken out of use. */
const canceledIdKey = 'counterfoil_canceled_payment_id';

/** Above Stripe's minimum and a multiple of every unit that it counts, in any currency. Nothing confirms it. */
const fenceAmount = 10_000;
/** A request that Stripe has taken is on its books, or rejected, so long after its caller has given up. */
const workMsMax = 60_000;

/**
 * Ends a charge whose outcome is unknown. First its idempotency key is used for another request, an intent that confirms
 * nothing: where Stripe takes that, it has never seen the charge, and will reject it should it still arrive
 * (https://docs.stripe.com/api/idempotent_requests: a key with other parameters is an error). Where Stripe rejects it, the
 * charge has arrived: then it is on the books, or Stripe has stored an error for it and made no intent, or is still at work
 * on it.
 */
export async function cancelCharge(
  client: Stripe,
  intents: Intents,
  canceled: CanceledCharge,
): Promise<CancelOutcome> {
  const work = cancel(client, intents, canceled).catch(
    (error: unknown): Unknown => ({ kind: 'unknown', detail: detailOf(error) }),
  );
  return inTime<CancelOutcome>(work, canceled.timeoutMs, { kind: 'unknown', detail: 'not canceled in time' });
}

async function cancel(client: Stripe, intents: Intents, canceled: CanceledCharge): Promise<CancelOutcome> {
  if (await isKeyTaken(client, canceled)) return { kind: 'canceled' };
  const found = await findIntent(client, intents, canceled);
  if (!('kind' in found)) return ended(client, found);
  if (found.kind !== 'absent') return found;
  if (canceled.silentMs > workMsMax) return { kind: 'canceled' };
  return { kind: 'unknown', detail: 'Stripe may still be at work on it' };
}

/** @returns false when the charge had used the key before; throws where it is not known */
async function isKeyTaken(
  client: Stripe,
  { paymentId, processorKey, currency, timeoutMs }: CanceledCharge,
): Promise<boolean> {
  const timeout = Math.min(timeoutMs, pageMsMax);
  try {
    const { id } = await client.paymentIntents.create(
      {
        amount: fenceAmount,
        currency: currency.toLowerCase(),
        allowed_payment_method_types: ['card'],
        metadata: { [canceledIdKey]: paymentId },
      },
      { idempotencyKey: processorKey, timeout },
    );
    // An intent without a card can charge nobody; canceling it only tidies the dashboard.
    await client.paymentIntents.cancel(id, {}, { timeout }).catch(() => undefined);
    return true;
  } catch (error) {
    if (isOfAnotherRequest(error)) return false;
    throw error;
  }
}

/** An intent that may still be confirmed is canceled at Stripe; if it was decided meanwhile, that counts. */
async function ended(client: Stripe, intent: Stripe.PaymentIntent): Promise<CancelOutcome> {
  const outcome = outcomeOfFound(intent);
  if (outcome.kind === 'succeeded' || outcome.kind === 'declined') return outcome;
  const timeout = pageMsMax;
  const after = await client.paymentIntents
    .cancel(intent.id, {}, { timeout })
    .catch(() => client.paymentIntents.retrieve(intent.id, {}, { timeout }));
  if (after.status === 'canceled') return { kind: 'canceled' };
  const decided = outcomeOfFound(after);
  if (decided.kind === 'succeeded' || decided.kind === 'declined') return decided;
  return { kind: 'unknown', detail: `the PaymentIntent is ${after.status}` };
}
