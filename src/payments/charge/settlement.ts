import { ServiceError } from '../../errors.ts';
import type { Money } from '../../processors/reports.ts';
import type { Write } from '../../storage/engine.ts';
import { hasEnded, isFinal, transitionCharge, transitionProvenCharge } from '../charge-state.ts';
import type { PaymentContext, SettleChargeContext } from '../context.ts';
import { holdsItem, made, releaseItem, reserveItem } from '../fulfilment.ts';
import { isItemRevoked } from '../item-revocation.ts';
import { authenticationAttemptsSkipped, eventsPerPaymentMax, recoveryDelayOfHoldMsMax } from '../limits.ts';
import { openId, type Pause, postponeMarker, removeMarker } from '../ownership/marker.ts';
import { type Payment, paymentKeysSpace } from '../payment.ts';
import { type Change, chargeCreation } from '../payment-store.ts';
import { sealAuthentication } from '../public-payment.ts';
import { withoutReceiptEmail } from './details.ts';
import {
  finalOutcome,
  isOpenEnded,
  type ObservedOutcome,
  type Outcome,
  otherAmount,
  otherAmountMessage,
  stateAfter,
} from './outcome.ts';
import { responseTo, reviewResponse } from './response.ts';

/**
 * Decides, as the only place, what an observed outcome changes in a charge. A known outcome does not change, except
 * that proof of a success overrides a decline.
 *
 * @param rejected writes to leave out: they failed because the item or the charge id exists already
 * @returns undefined if nothing changes
 */
export function settlement(
  context: Pick<SettleChargeContext, 'now' | 'itemWrite' | 'sealer' | 'authenticationMs'>,
  payment: Payment,
  observed: ObservedOutcome,
  rejected: readonly Write[],
): Change | undefined {
  const outcome = finalOutcome(payment, observed);
  const taken = otherAmount(payment, outcome);
  if (taken !== undefined && payment.chargeId === undefined)
    return inReview(payment, observed, taken, rejected);
  if (payment.state === 'declined' && outcome.kind === 'succeeded')
    return overridden(context, payment, observed, rejected);
  // Only a person can end a proven charge that needs review because of its item.
  if (payment.chargeId !== undefined && observed.audit === undefined) return noted(payment, observed);
  if (isFinal(payment.state) || (hasEnded(payment.state) && isOpenEnded(outcome))) return undefined;
  const id = openId(payment.id);
  const wasOpen = !hasEnded(payment.state);
  const after = {
    ...withObserved(payment, observed),
    state: transitionCharge(payment.state, stateAfter(payment, outcome)),
  };
  if (after.state === 'requires_action') return waiting(context, after, outcome);
  if (!hasEnded(after.state))
    return { payment: after, writes: [postponeMarker(context, id, payment, nextPause(after))] };

  const ended = withOutcome(after, outcome);
  const item = itemMade(context, ended).filter((write) => isFree(write, rejected));
  return {
    payment: { ...ended, ...itemState(ended, item.length > 0) },
    writes: [
      ...(wasOpen ? [removeMarker(id)] : []),
      ...(payment.item === undefined ? [] : releaseItem(payment.item, payment.id)),
      ...(outcome.kind === 'not_attempted' ? keyFreed(payment) : []),
      ...chargeNoted(ended).filter((write) => isFree(write, rejected)),
      ...item,
      ...auditWrites(observed),
    ],
  };
}

/**
 * The money that moved is not the amount of the payment. A person must decide, and the payment holds its item until
 * then.
 */
function inReview(
  payment: Payment,
  observed: ObservedOutcome,
  taken: Money,
  rejected: readonly Write[],
): Change {
  const state = transitionProvenCharge(payment.state, 'needs_review');
  const { declineCode: _inferred, ...rest } = withObserved(payment, observed);
  const after: Payment = {
    ...withOutcome({ ...rest, state }, observed.outcome),
    response: reviewResponse(payment, otherAmountMessage(payment, taken)),
  };
  return {
    payment: after,
    writes: [
      ...(hasEnded(payment.state) ? [] : [removeMarker(openId(payment.id))]),
      ...chargeNoted(after).filter((write) => isFree(write, rejected)),
    ],
  };
}

/**
 * The charge waits for its cardholder. Its token is no longer needed, and recovery looks the charge up until its
 * deadline.
 */
function waiting(
  context: Pick<SettleChargeContext, 'now' | 'sealer' | 'authenticationMs'>,
  payment: Payment,
  outcome: Outcome,
): Change {
  const authentication =
    payment.authentication ??
    (outcome.kind === 'requires_action'
      ? sealAuthentication(context, payment, outcome, context.now() + context.authenticationMs)
      : undefined);
  const after = { ...withoutToken(payment), ...(authentication && { authentication }) };
  const deadline = authentication?.until ?? 0;
  // An unknown outcome may mean that the processor is down, so recovery must look often enough to see when it is back.
  const pause: Pause =
    outcome.kind === 'unknown'
      ? { ...nextPause(payment), deadline }
      : { attempts: payment.attempts + authenticationAttemptsSkipped, deadline };
  return {
    payment: after,
    writes: [postponeMarker(context, openId(payment.id), payment, { ...pause, isCardholders: true })],
  };
}

/**
 * The pause ends at `retryUntil` at the latest, when the charge is canceled. It is shorter for a charge that holds an
 * item, so that the hold ends in time.
 */
function nextPause(payment: Payment): Pause {
  const { attempts, retryUntil: deadline } = payment;
  return { attempts, deadline, ...(holdsItem(payment) ? { msMax: recoveryDelayOfHoldMsMax } : {}) };
}

/** Proof of success overrides an inferred decline. If the item is taken or held, the payment needs review. */
function overridden(
  context: Pick<PaymentContext, 'itemWrite'>,
  payment: Payment,
  observed: ObservedOutcome,
  rejected: readonly Write[],
): Change {
  const { outcome } = observed;
  const { declineCode: _inferred, ...rest } = withObserved(payment, observed);
  const succeeded = withOutcome(
    { ...rest, state: transitionProvenCharge(payment.state, 'succeeded') },
    outcome,
  );
  const item = itemMade(context, succeeded).filter((write) => isFree(write, rejected));
  const dueItem = isItemRevoked(payment) ? undefined : payment.item;
  const hold = dueItem === undefined ? [] : reserveItem(dueItem, payment.id);
  const isHeldByOther = hold.some((write) => !isFree(write, rejected));
  const isLost = dueItem !== undefined && (item.length === 0 || isHeldByOther);
  const after: Payment = isLost
    ? {
        ...succeeded,
        state: transitionProvenCharge(payment.state, 'needs_review'),
        response: reviewResponse(payment, chargedWithoutItem),
      }
    : succeeded;
  return {
    payment: { ...after, ...itemState(succeeded, !isLost) },
    writes: [
      ...chargeNoted(after).filter((write) => isFree(write, rejected)),
      // The hold in the same commit proves that no other payment holds the item; it is released right after.
      ...(isLost ? [] : [...hold, ...item]),
      ...auditWrites(observed),
    ],
  };
}

const chargedWithoutItem =
  'The charge was first reported as declined but succeeded. Its item has been sold: the shop must refund the charge or ' +
  'deliver another item.';

/** Records only that the event was received. */
function noted(payment: Payment, { eventId }: ObservedOutcome): Change | undefined {
  if (eventId === undefined || payment.events?.includes(eventId)) return undefined;
  return { payment: { ...payment, events: withEvent(payment, eventId) } };
}

function isFree({ space, id }: Write, rejected: readonly Write[]): boolean {
  return !rejected.some((write) => write.space === space && write.id === id);
}

function auditWrites({ audit }: ObservedOutcome): Write[] {
  return audit === undefined ? [] : [audit];
}

/** Nothing was charged, so a retry of the same request may succeed. */
function keyFreed({ keyEntry }: Payment): Write[] {
  return keyEntry === undefined ? [] : [{ kind: 'delete', space: paymentKeysSpace, id: keyEntry }];
}

function chargeNoted({ id, processor, chargeId }: Payment): Write[] {
  return chargeId === undefined ? [] : [chargeCreation(processor, chargeId, id)];
}

/**
 * Empty if the item is revoked, or if the settings no longer allow it. The charge ends all the same, and the log
 * reports it.
 */
function itemMade(context: Pick<PaymentContext, 'itemWrite'>, payment: Payment): Write[] {
  if (payment.state !== 'succeeded' || isItemRevoked(payment)) return [];
  try {
    const write = made(context, payment);
    return write === undefined ? [] : [write];
  } catch (error) {
    if (error instanceof ServiceError) return [];
    throw error;
  }
}

function itemState(payment: Payment, isMade: boolean): Pick<Payment, 'item'> {
  const { item, state } = payment;
  if (item === undefined) return {};
  if (state !== 'succeeded' || isItemRevoked(payment)) return { item: { ...item, state: 'not_made' } };
  return { item: { ...item, state: isMade ? 'made' : 'conflict' } };
}

/** The fields of a payment's record that a step of its charge adds and erases. */

function withObserved(payment: Payment, { eventId }: ObservedOutcome): Payment {
  if (eventId === undefined) return { ...payment, attempts: payment.attempts + 1 };
  return { ...payment, events: withEvent(payment, eventId) };
}

/** Adds the response of an ended payment, and erases its token and its buyer's addresses. */
function withOutcome(payment: Payment, outcome: Outcome): Payment {
  return {
    ...withoutSecrets(payment),
    ...(outcome.kind === 'succeeded' ? { chargeId: outcome.chargeId } : {}),
    ...('declineCode' in outcome ? { declineCode: outcome.declineCode } : {}),
    response: responseTo(outcome, payment),
  };
}

function withoutToken(payment: Payment): Payment {
  const { sealedToken: _erased, ...rest } = withoutReceiptEmail(payment);
  return rest;
}

export function withoutSecrets(payment: Payment): Payment {
  const { authentication, sealedBuyerAddress: _erased, ...rest } = withoutToken(payment);
  if (authentication === undefined) return rest;
  const { sealedAction: _action, lookUp: _ended, ...kept } = authentication;
  return { ...rest, authentication: kept };
}

export function withEvent({ events = [] }: Payment, id: string): readonly string[] {
  return [...events, id].slice(-eventsPerPaymentMax);
}
