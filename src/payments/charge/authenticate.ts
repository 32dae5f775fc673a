import { setTimeout as sleep } from 'node:timers/promises';
import { errorFields } from '../../log.ts';
import { findProcessor, type PaymentContext } from '../context.ts';
import {
  authenticationLookUpMsMax,
  authenticationLookUpPauseMs,
  authenticationPollMs,
  clockStepMsMax,
} from '../limits.ts';
import type { Authentication, Payment } from '../payment.ts';
import { changePayment, findPayment } from '../payment-store.ts';
import { measureAge } from '../resolve-outcome.ts';
import { endAuthentication } from './look-up.ts';
import { markForReview, settleCharge } from './settle.ts';

/**
 * Finds out what became of a charge that waits for its cardholder. A success settles the charge. Before any other end,
 * the attempt is canceled at the processor, because the cardholder's page could still confirm it, even with another
 * card. So a failed authentication, the deadline and the shop's cancellation first cancel the attempt and then decline
 * the charge.
 *
 * @param eventId the processor's event that caused the look-up
 * @returns the payment afterwards, which may still wait
 */
export async function resolveAuthentication(
  context: PaymentContext,
  payment: Payment,
  eventId?: string,
): Promise<Payment> {
  const processor = findProcessor(context, payment.processor);
  const outcome = await endAuthentication(context, processor, payment);
  if (outcome.kind === 'unknown' && measureAge(payment.createdAt, context.now(), processor).isHopeless) {
    await markForReview(context, payment.id);
    return payment;
  }
  return settleCharge(context, payment.id, { outcome, basis: 'proof', eventId }, payment);
}

/**
 * Looks up a charge that waits for its cardholder. This happens when a caller retrieves the payment, finds it by its
 * idempotency key, or repeats the request. Concurrent callers in all processes share one look-up, so the processor is
 * called about once a second for each payment.
 *
 * @returns the payment after the look-up; unchanged if no look-up may start now, or if the processor takes too long
 */
export async function refreshAuthentication(context: PaymentContext, payment: Payment): Promise<Payment> {
  if (payment.state !== 'requires_action') return payment;
  const lookedUp = context.lookUpThrottle.run(payment.id, () => lookUp(context, payment));
  if (lookedUp === undefined) return payment;
  return Promise.race([
    context.inFlight.add(lookedUp),
    sleep(authenticationLookUpMsMax, payment, { ref: false }),
  ]);
}

async function lookUp(context: PaymentContext, payment: Payment): Promise<Payment> {
  try {
    const differs = await context.accounts.differs(payment, findProcessor(context, payment.processor));
    if (differs !== 'no') return payment;
    const { payment: found, isChanged } = await begin(context, payment);
    return isChanged ? await resolveAuthentication(context, found) : await othersResult(context, found);
  } catch (error) {
    context.log.error('charge_not_recovered', { payment_id: payment.id, ...errorFields(error) });
    return payment;
  }
}

/** Records that this process looks the charge up, unless another process does so or has just done so. */
function begin(
  context: Pick<PaymentContext, 'engine' | 'now'>,
  known: Payment,
): ReturnType<typeof changePayment> {
  const change = (payment: Payment) => {
    const { state, authentication, attempts } = payment;
    const now = context.now();
    if (state !== 'requires_action' || authentication === undefined) return undefined;
    const msSince = sinceLookUp(authentication, now);
    if (msSince < authenticationLookUpPauseMs || isLookedUp(payment, now)) return undefined;
    return { payment: { ...payment, authentication: { ...authentication, lookUp: { at: now, attempts } } } };
  };
  return changePayment(context, known.id, change, known);
}

/** Waits while another process looks the charge up. @returns the payment with its result */
async function othersResult(
  context: Pick<PaymentContext, 'engine' | 'now'>,
  found: Payment,
): Promise<Payment> {
  let payment = found;
  while (isLookedUp(payment, context.now())) {
    await sleep(authenticationPollMs);
    payment = (await findPayment(context, found.id)) ?? payment;
  }
  return payment;
}

/**
 * Whether a look-up is under way. Its result increases `attempts`. If that does not happen in time, the process that
 * looks up has died.
 */
function isLookedUp({ state, authentication, attempts }: Payment, now: number): boolean {
  if (state !== 'requires_action' || authentication?.lookUp?.attempts !== attempts) return false;
  return sinceLookUp(authentication, now) < authenticationLookUpMsMax;
}

/**
 * Milliseconds since the last look-up began. The clocks of two machines may differ a little; a time far in the future
 * is ignored.
 */
function sinceLookUp({ lookUp }: Authentication, now: number): number {
  const ms = lookUp === undefined ? Infinity : now - lookUp.at;
  return ms < -clockStepMsMax ? Infinity : ms;
}
