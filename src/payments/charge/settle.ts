import { ServiceError } from '../../errors.ts';
import type { Money } from '../../processors/event.ts';
import type { Write } from '../../storage/engine.ts';
import { hasEnded, isFinal, transitionCharge, transitionProvenCharge } from '../charge-state.ts';
import type { PaymentContext, SettleChargeContext } from '../context.ts';
import { holdsItem, made, releaseItem, reserveItem } from '../fulfilment.ts';
import { isItemRevoked } from '../item-revocation.ts';
import { authenticationAttemptsSkipped, recoveryDelayOfHoldMsMax } from '../limits.ts';
import { openId, type Pause, postponeMarker, removeMarker } from '../ownership/marker.ts';
import { chargeEntry, chargesSpace, type Payment, paymentKeysSpace } from '../payment.ts';
import { type Change, changePayment, WriteRejected } from '../payment-store.ts';
import { conclusion, isOpenEnded, stateOf } from './conclusion.ts';
import { authenticationOf } from './next-action.ts';
import { otherAmountMessage, otherAmountOf } from './other-amount.ts';
import type { Finding, Settlement } from './outcome.ts';
import { report, reportOtherAmount } from './report.ts';
import { reviewResponse } from './response.ts';
import { withEvent, withFinding, withOutcome, withoutSecrets, withoutToken } from './settled-record.ts';
import { type CountChange, countChange } from './tried-cards.ts';

/**
 * The third step: one commit stores the outcome, the exact response and the route's item, removes the marker and erases
 * the token. A known outcome does not change: the first process to settle a charge wins. Only a success overrides a
 * decline.
 *
 * @param known the payment as this process last saw it
 * @returns the payment as it is now
 */
export async function settleCharge(
  context: SettleChargeContext,
  id: string,
  finding: Finding,
  known?: Payment,
): Promise<Payment> {
  const rejected: Write[] = [];
  for (;;) {
    try {
      let before: Payment | undefined;
      let count: CountChange | undefined;
      const change = async (payment: Payment) => {
        before = payment;
        const step = changed(context, payment, finding, rejected);
        if (step === undefined) return undefined;
        count = await countChange(context, payment, step.payment, finding.outcome);
        return { ...step, writes: [...(step.writes ?? []), ...count.writes] };
      };
      const { payment, isChanged } = await changePayment(context, id, change, known);
      if (isChanged) count?.committed();
      const taken = isChanged ? otherAmountOf(payment, finding.outcome) : undefined;
      if (taken !== undefined) reportOtherAmount(context, payment, finding, taken);
      if (isChanged && before?.state !== payment.state) report(context, payment, finding, before?.state);
      else if (isChanged && payment.state === 'in_doubt') report(context, payment, finding, before?.state);
      if (before?.state === 'declined') await releaseHold(context, payment);
      return payment;
    } catch (error) {
      if (!(error instanceof WriteRejected) || error.write === undefined) throw error;
      // Another card of the address was counted meanwhile: one of the two commits is always made.
      if (context.triedCards.isCount(error.write)) continue;
      // The item or the charge id exists meanwhile. The money has moved anyway, so retry without that write.
      rejected.push(error.write);
      if (rejected.length > 3) throw error;
    }
  }
}

function changed(
  context: Pick<SettleChargeContext, 'now' | 'itemWrite' | 'sealer' | 'authenticationMs'>,
  payment: Payment,
  finding: Finding,
  rejected: readonly Write[],
): Change | undefined {
  const outcome = conclusion(payment, finding);
  const taken = otherAmountOf(payment, outcome);
  if (taken !== undefined && payment.chargeId === undefined)
    return inReview(payment, finding, taken, rejected);
  if (payment.state === 'declined' && outcome.kind === 'succeeded')
    return overridden(context, payment, finding, rejected);
  // Only a person can end a proven charge that needs review because of its item.
  if (payment.chargeId !== undefined && finding.audit === undefined) return noted(payment, finding);
  if (isFinal(payment.state) || (hasEnded(payment.state) && isOpenEnded(outcome))) return undefined;
  const id = openId(payment.id);
  const wasOpen = !hasEnded(payment.state);
  const after = {
    ...withFinding(payment, finding),
    state: transitionCharge(payment.state, stateOf(payment, outcome)),
  };
  if (after.state === 'requires_action') return waiting(context, after, outcome);
  if (!hasEnded(after.state))
    return { payment: after, writes: [postponeMarker(context, id, payment, pauseOf(after))] };

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
      ...auditOf(finding),
    ],
  };
}

/** Money has moved, but not the amount of the payment: a person decides, and its item stays held for it until then. */
function inReview(payment: Payment, finding: Finding, taken: Money, rejected: readonly Write[]): Change {
  const state = transitionProvenCharge(payment.state, 'needs_review');
  const { declineCode: _inferred, ...rest } = withFinding(payment, finding);
  const after: Payment = {
    ...withOutcome({ ...rest, state }, finding.outcome),
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

/** The charge waits for its cardholder: nobody needs its token any more, and recovery looks it up until its deadline. */
function waiting(
  context: Pick<SettleChargeContext, 'now' | 'sealer' | 'authenticationMs'>,
  payment: Payment,
  outcome: Settlement,
): Change {
  const authentication =
    payment.authentication ??
    (outcome.kind === 'requires_action'
      ? authenticationOf(context, payment, outcome, context.now() + context.authenticationMs)
      : undefined);
  const after = { ...withoutToken(payment), ...(authentication && { authentication }) };
  const deadline = authentication?.until ?? 0;
  // A processor that does not say what the attempt is may be away: then its return must not be missed.
  const pause: Pause =
    outcome.kind === 'unknown'
      ? { ...pauseOf(payment), deadline }
      : { attempts: payment.attempts + authenticationAttemptsSkipped, deadline };
  return {
    payment: after,
    writes: [postponeMarker(context, openId(payment.id), payment, { ...pause, isCardholders: true })],
  };
}

/** A charge that may be requested again is canceled at the end of that time; one that holds an item must not hold it longer. */
function pauseOf(payment: Payment): Pause {
  const { attempts, wantedUntil: deadline } = payment;
  return { attempts, deadline, ...(holdsItem(payment) ? { msMax: recoveryDelayOfHoldMsMax } : {}) };
}

/** Proof of success overrides an inferred decline. If the item is taken or held, the payment needs review. */
function overridden(
  context: Pick<PaymentContext, 'itemWrite'>,
  payment: Payment,
  finding: Finding,
  rejected: readonly Write[],
): Change {
  const { outcome } = finding;
  const { declineCode: _inferred, ...rest } = withFinding(payment, finding);
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
      ...auditOf(finding),
    ],
  };
}

const chargedWithoutItem =
  'The charge was first reported as declined but succeeded. Its item has been sold: the shop must refund the charge or ' +
  'deliver another item.';

/** Records only that the event was received. */
function noted(payment: Payment, { eventId }: Finding): Change | undefined {
  if (eventId === undefined || payment.events?.includes(eventId)) return undefined;
  return { payment: { ...payment, events: withEvent(payment, eventId) } };
}

/** Releases the hold of an override. If this fails, the item's next buyer removes the hold. */
async function releaseHold(context: Pick<PaymentContext, 'engine'>, { item, id }: Payment): Promise<void> {
  if (item?.state === 'made') await context.engine.commit(releaseItem({ ...item, state: 'awaited' }, id));
}

function isFree({ space, id }: Write, rejected: readonly Write[]): boolean {
  return !rejected.some((write) => write.space === space && write.id === id);
}

function auditOf({ audit }: Finding): Write[] {
  return audit === undefined ? [] : [audit];
}

/** Nothing was charged, so a retry of the same request may succeed. */
function keyFreed({ keyEntry }: Payment): Write[] {
  return keyEntry === undefined ? [] : [{ kind: 'delete', space: paymentKeysSpace, id: keyEntry }];
}

function chargeNoted({ id, processor, chargeId }: Payment): Write[] {
  if (chargeId === undefined) return [];
  return [
    {
      kind: 'create',
      space: chargesSpace,
      id: chargeEntry(processor, chargeId),
      value: id,
      makeSpace: true,
    },
  ];
}

/** Empty if the item is revoked, or the settings no longer allow it: the charge still ends, and the log reports it. */
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

/** Ends a charge with an outcome that cannot be determined. Only a later event from the processor can still change it. */
export async function markForReview(
  context: Pick<PaymentContext, 'engine' | 'log' | 'metrics'>,
  id: string,
): Promise<void> {
  const { payment, isChanged } = await changePayment(context, id, (before) => {
    if (hasEnded(before.state)) return undefined;
    const state = transitionCharge(before.state, 'needs_review');
    const reviewed = { ...withoutSecrets(before), state, response: reviewResponse(before) };
    return { payment: reviewed, writes: [removeMarker(openId(id))] };
  });
  if (!isChanged) return;
  const { processor, route, state } = payment;
  context.metrics.charge(processor, route, state);
  context.log.error('charge_needs_review', { payment_id: payment.id, processor });
}
