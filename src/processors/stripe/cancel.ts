import type { Stripe } from 'stripe';
import type { CanceledCharge, CancelOutcome, Unknown } from '../processor.ts';
import { outcomeInTime } from '../sending/outcomes.ts';
import { errorDetail, isOfAnotherRequest, isReplayed } from './errors.ts';
import { findIntent, foundOutcome, type Intents, pageMsMax } from './look-up.ts';

/** The metadata key that holds the id of the payment with the canceled charge. */
const canceledIdKey = 'counterfoil_canceled_payment_id';

/** Above Stripe's minimum and a multiple of Stripe's unit in every currency. It is never confirmed. */
const fenceAmount = 10_000;
/** This long after its caller's time-out, Stripe has recorded or rejected every request that it received. */
export const workMsMax = 60_000;

/**
 * Cancels a charge with an unknown outcome. It sends another request, the fence, for an unconfirmed intent, with the charge's
 * idempotency key. If Stripe accepts it, the charge never arrived, and Stripe will reject it if it still arrives
 * (https://docs.stripe.com/api/idempotent_requests: a key with other parameters is an error). If Stripe rejects it, the
 * charge has arrived: Stripe has recorded it, has stored an error without an intent, or is still working on it.
 *
 * Stripe also stores a server error of the fence, and replays it for a day. A replayed error proves that the key is taken, so
 * that the charge can no longer be made with it. Stripe's records then show whether it was made before.
 */
export async function cancelCharge(
  client: Stripe,
  intents: Intents,
  canceled: CanceledCharge,
): Promise<CancelOutcome> {
  const work = cancel(client, intents, canceled).catch(
    (error: unknown): Unknown => ({ kind: 'unknown', detail: errorDetail(error) }),
  );
  return outcomeInTime(work, canceled.timeoutMs, 'not canceled in time');
}

async function cancel(client: Stripe, intents: Intents, canceled: CanceledCharge): Promise<CancelOutcome> {
  const { attemptId } = canceled;
  if (attemptId !== undefined) return cancelAttempt(client, attemptId, canceled.timeoutMs);
  if ((await fence(client, canceled)) === 'accepted') return { kind: 'canceled' };
  const found = await findIntent(client, intents, canceled);
  if (!('kind' in found)) return cancelIntent(client, found);
  if (found.kind !== 'absent') return found;
  if (canceled.silentMs > workMsMax) return { kind: 'canceled' };
  return { kind: 'unknown', detail: 'Stripe may still be working on it' };
}

/**
 * @returns `accepted` if the charge never arrived; `taken` if no request can use the key any more, which the charge or an earlier
 *   fence has used. Throws if that is unknown: an error that is not replayed may come from before the idempotency layer.
 */
async function fence(
  client: Stripe,
  { paymentId, processorKey, currency, timeoutMs }: CanceledCharge,
): Promise<'accepted' | 'taken'> {
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
    // An intent without a card cannot charge; canceling it only tidies the dashboard.
    await client.paymentIntents.cancel(id, {}, { timeout }).catch(() => undefined);
    return 'accepted';
  } catch (error) {
    if (isOfAnotherRequest(error) || isReplayed(error)) return 'taken';
    throw error;
  }
}

/** Cancels an intent that may still be confirmed, also a declined one. If it was decided before, returns that outcome. */
async function cancelIntent(client: Stripe, intent: Stripe.PaymentIntent): Promise<CancelOutcome> {
  const outcome = foundOutcome(intent);
  if (outcome.kind === 'succeeded') return outcome;
  if (outcome.kind !== 'declined') return cancelAttempt(client, intent.id, pageMsMax);
  const { openAttemptId, ...closed } = outcome;
  if (openAttemptId === undefined) return closed;
  const ended = await cancelAttempt(client, openAttemptId, pageMsMax);
  return ended.kind === 'canceled' ? closed : ended;
}

/**
 * Cancels an intent that the cardholder's page may still confirm; also a declined one, which accepts another card. An error
 * may mean that it was decided meanwhile.
 */
async function cancelAttempt(client: Stripe, id: string, timeoutMs: number): Promise<CancelOutcome> {
  const timeout = Math.min(timeoutMs, pageMsMax);
  const after = await client.paymentIntents
    .cancel(id, {}, { timeout })
    .catch(() => client.paymentIntents.retrieve(id, {}, { timeout }));
  if (after.status === 'canceled') return { kind: 'canceled' };
  const decided = foundOutcome(after);
  if (decided.kind === 'succeeded') return decided;
  return { kind: 'unknown', detail: `the PaymentIntent is ${after.status}` };
}
