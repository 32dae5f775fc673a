import { ServiceError } from '../../errors.ts';
import type { Write } from '../../storage/engine.ts';
import {
  type ChargeState,
  hasEnded,
  isFinal,
  transitionCharge,
  transitionProvenCharge,
} from '../charge-state.ts';
import type { PaymentContext } from '../context.ts';
import { made, releaseItem, reserveItem } from '../fulfilment.ts';
import { eventsPerPaymentMax } from '../limits.ts';
import { openId, postponeMarker, removeMarker } from '../ownership/marker.ts';
import { chargeEntry, chargesSpace, type Payment, paymentKeysSpace } from '../payment.ts';
import { type Change, changePayment, WriteRefused } from '../payment-store.ts';
import type { Finding, Settlement } from './outcome.ts';
import { report } from './report.ts';
import { responseOf, reviewResponse } from './response.ts';

/**
 * The third step: one commit with the outcome, the exact answer, the item of the route, and the marker removed; the
 * token is erased. It changes nothing where the outcome is known already, whoever learned it: the first to settle a
 * charge has settled it. Only a success overrides a decline.
 *
 * @param known the payment as this process has last seen it
 * @returns the payment as it is now
 */
export async function settleCharge(
  context: PaymentContext,
  id: string,
  finding: Finding,
  known?: Payment,
): Promise<Payment> {
  const refused: Write[] = [];
  for (;;) {
    try {
      let before: Payment | undefined;
      const change = (payment: Payment) => {
        before = payment;
        return changed(context, payment, finding, refused);
      };
      const { payment, isChanged } = await changePayment(context, id, change, known);
      if (isChanged && before?.state !== payment.state) report(context, payment, finding, before?.state);
      else if (isChanged && payment.state === 'in_doubt') report(context, payment, finding, before?.state);
      if (before?.state === 'declined') await releaseHold(context, payment);
      return payment;
    } catch (error) {
      // An item that somebody has made meanwhile, or a charge id that is known: the money has moved all the same.
      if (!(error instanceof WriteRefused) || error.write === undefined) throw error;
      refused.push(error.write);
      if (refused.length > 3) throw error;
    }
  }
}

function changed(
  context: PaymentContext,
  payment: Payment,
  finding: Finding,
  refused: readonly Write[],
): Change | undefined {
  const outcome = conclusion(payment, finding);
  if (payment.state === 'declined' && outcome.kind === 'succeeded')
    return overridden(context, payment, finding, refused);
  // A charge that is proven to be made, and needs review for its item, is a person's to end.
  if (payment.chargeId !== undefined && finding.audit === undefined) return noted(payment, finding);
  if (isFinal(payment.state) || (hasEnded(payment.state) && outcome.kind === 'unknown')) return undefined;
  const id = openId(payment.id);
  const wasOpen = !hasEnded(payment.state);
  const after = {
    ...withFinding(payment, finding),
    state: transitionCharge(payment.state, stateOf(outcome)),
  };
  if (!hasEnded(after.state))
    return { payment: after, writes: [postponeMarker(context, id, payment, after.attempts)] };

  const ended = withOutcome(after, outcome);
  const item = itemMade(context, ended).filter((write) => isFree(write, refused));
  return {
    payment: { ...ended, ...itemState(ended, item.length > 0) },
    writes: [
      ...(wasOpen ? [removeMarker(id)] : []),
      ...(payment.item === undefined ? [] : releaseItem(payment.item, payment.id)),
      ...(outcome.kind === 'not_attempted' ? keyFreed(payment) : []),
      ...chargeNoted(ended).filter((write) => isFree(write, refused)),
      ...item,
      ...auditOf(finding),
    ],
  };
}

/** Proof of success overrides an inferred decline. If the item is taken or held, the payment needs review. */
function overridden(
  context: PaymentContext,
  payment: Payment,
  finding: Finding,
  refused: readonly Write[],
): Change {
  const { outcome } = finding;
  const { declineCode: _inferred, ...kept } = withFinding(payment, finding);
  const succeeded = withOutcome(
    { ...kept, state: transitionProvenCharge(payment.state, 'succeeded') },
    outcome,
  );
  const item = itemMade(context, succeeded).filter((write) => isFree(write, refused));
  const hold = payment.item === undefined ? [] : reserveItem(payment.item, payment.id);
  const isHeldByOther = hold.some((write) => !isFree(write, refused));
  const isLost = payment.item !== undefined && (item.length === 0 || isHeldByOther);
  const after: Payment = isLost
    ? {
        ...succeeded,
        state: transitionProvenCharge(payment.state, 'needs_review'),
        answer: reviewResponse(payment, chargedWithoutItem),
      }
    : succeeded;
  return {
    payment: { ...after, ...itemState(succeeded, !isLost) },
    writes: [
      ...chargeNoted(after).filter((write) => isFree(write, refused)),
      // With the hold in the same commit nobody else can be paying for the item; it is released right after.
      ...(isLost ? [] : [...hold, ...item]),
      ...auditOf(finding),
    ],
  };
}

const chargedWithoutItem =
  'The charge was first reported as declined but succeeded. Its item has been sold: the shop must refund the charge or ' +
  'deliver another item.';

/** Only that the event has been seen. */
function noted(payment: Payment, { eventId }: Finding): Change | undefined {
  if (eventId === undefined || payment.events?.includes(eventId)) return undefined;
  return { payment: { ...payment, events: withEvent(payment, eventId) } };
}

/** The hold that an override has taken. Should it stay, the next buyer of the item removes it. */
async function releaseHold(context: PaymentContext, { item, id }: Payment): Promise<void> {
  if (item?.state === 'made') await context.engine.commit(releaseItem({ ...item, state: 'awaited' }, id));
}

function withFinding(payment: Payment, { eventId }: Finding): Payment {
  if (eventId === undefined) return { ...payment, attempts: payment.attempts + 1 };
  return { ...payment, events: withEvent(payment, eventId) };
}

function isFree({ space, id }: Write, refused: readonly Write[]): boolean {
  return !refused.some((write) => write.space === space && write.id === id);
}

function auditOf({ audit }: Finding): Write[] {
  return audit === undefined ? [] : [audit];
}

/** Nothing was asked: the same request may fare better later. */
function keyFreed({ keyEntry }: Payment): Write[] {
  return keyEntry === undefined ? [] : [{ kind: 'delete', space: paymentKeysSpace, id: keyEntry }];
}

/**
 * A rejection in reply to a request counts while that request is the only one. Once somebody else has taken the charge
 * over and may have asked again, it proves nothing about the other request; then the books are looked at.
 */
function conclusion({ state }: Payment, { outcome, basis }: Finding): Settlement {
  if (outcome.kind === 'succeeded' || outcome.kind === 'unknown' || state === 'calling') return outcome;
  if (basis !== 'reply' && outcome.kind !== 'not_attempted') return outcome;
  const detail = 'detail' in outcome ? outcome.detail : outcome.kind;
  return { kind: 'unknown', detail: `rejected when it may have been sent twice: ${detail}` };
}

function stateOf({ kind }: Settlement): ChargeState {
  if (kind === 'succeeded') return 'succeeded';
  return kind === 'unknown' ? 'in_doubt' : 'declined';
}

/** A payment that has ended has its answer, and its token is erased. */
function withOutcome(payment: Payment, outcome: Settlement): Payment {
  return {
    ...withoutToken(payment),
    ...(outcome.kind === 'succeeded' ? { chargeId: outcome.chargeId } : {}),
    ...('declineCode' in outcome ? { declineCode: outcome.declineCode } : {}),
    answer: responseOf(outcome, payment),
  };
}

function withoutToken(payment: Payment): Payment {
  const { sealedToken: _erased, ...kept } = payment;
  return kept;
}

export function withEvent({ events = [] }: Payment, id: string): readonly string[] {
  return [...events, id].slice(-eventsPerPaymentMax);
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

/** None where the settings no longer let the item be made: the charge ends all the same, and the log says so. */
function itemMade(context: PaymentContext, payment: Payment): Write[] {
  if (payment.state !== 'succeeded') return [];
  try {
    const write = made(context, payment);
    return write === undefined ? [] : [write];
  } catch (error) {
    if (error instanceof ServiceError) return [];
    throw error;
  }
}

function itemState({ item, state }: Payment, isMade: boolean): Pick<Payment, 'item'> {
  if (item === undefined) return {};
  if (state !== 'succeeded') return { item: { ...item, state: 'not_made' } };
  return { item: { ...item, state: isMade ? 'made' : 'conflict' } };
}

/** Nobody can find out what became of it: the end, unless the processor itself reports it one day. */
export async function markForReview(context: PaymentContext, id: string): Promise<void> {
  const { payment, isChanged } = await changePayment(context, id, (before) => {
    if (hasEnded(before.state)) return undefined;
    const state = transitionCharge(before.state, 'needs_review');
    const reviewed = { ...withoutToken(before), state, answer: reviewResponse(before) };
    return { payment: reviewed, writes: [removeMarker(openId(id))] };
  });
  if (!isChanged) return;
  const { processor, route, state } = payment;
  context.metrics.charge(processor, route, state);
  context.log.error('charge_needs_review', { payment_id: payment.id, processor });
}
