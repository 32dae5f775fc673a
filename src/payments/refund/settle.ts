import { defined } from '../../defined.ts';
import type { RefundOutcome } from '../../processors/processor.ts';
import { withEvent } from '../charge/settlement.ts';
import type { PaymentContext, SettleRefundContext } from '../context.ts';
import { changeRevokingItem, isItemRevoked } from '../item-revocation.ts';
import { openId, postponeMarker, removeMarker, restoreMarker } from '../ownership/marker.ts';
import type { Payment } from '../payment.ts';
import { type Change, changePayment } from '../payment-store.ts';
import { mayTransitionRefund, type Refund, type RefundState, type RequestedRefund } from '../refund-state.ts';
import { findRefund, withRefund } from './amounts.ts';
import { responseToRefund } from './response.ts';

export interface ObservedRefund {
  readonly outcome: RefundOutcome;
  /** The processor's event that reported it; absent if the processor was called. */
  readonly eventId?: string;
  /** Like `basis` of a charge's `ObservedOutcome` (`charge/outcome.ts`). */
  readonly basis: 'reply' | 'proof';
}

/**
 * The third step of a refund: one commit stores the outcome and the exact response, updates the marker, and deletes the
 * item of the payment if the refund revokes it. A transition that is not legal changes nothing, because another process
 * already knows more.
 *
 * @returns the refund as it is now
 */
export async function settleRefund(
  context: SettleRefundContext,
  paymentId: string,
  refundId: string,
  observed: ObservedRefund,
): Promise<Refund> {
  const { before, payment, isChanged } = await changeRevokingItem(context, paymentId, (found) =>
    settled(context, found, theRefund(found, refundId), observed),
  );
  const { state: stateBefore } = theRefund(before, refundId);
  const refund = theRefund(payment, refundId);
  if (isChanged) {
    const { outcome } = observed;
    // A refund that stays open is counted once.
    if (!isOpen(refund.state) || (refund.requested?.attempts ?? 0) <= 1)
      context.metrics.refund(payment.processor, refund.state);
    if (stateBefore === 'failed')
      context.log.error('refund_overridden', { payment_id: paymentId, refund_id: refundId });
    // The item may have been sold again, so only a person can restore it.
    if (stateBefore === 'succeeded' && payment.item?.state === 'deleted' && !isItemRevoked(payment))
      context.log.error('refund_failed_after_item_deleted', { payment_id: paymentId, refund_id: refundId });
    context.log.info('refund', {
      payment_id: paymentId,
      refund_id: refundId,
      processor: payment.processor,
      state: refund.state,
      detail: 'detail' in outcome ? outcome.detail : undefined,
    });
  }
  return refund;
}

function settled(
  context: Pick<PaymentContext, 'now'>,
  payment: Payment,
  refund: Refund,
  { outcome: reported, eventId, basis }: ObservedRefund,
): Change | undefined {
  const outcome = finalOutcome(refund, reported, basis);
  const state = stateAfter(outcome);
  const { requested, ...rest } = refund;
  const attempts = (requested?.attempts ?? 0) + (eventId === undefined ? 1 : 0);
  const id = openId(payment.id, refund.id);
  if (!mayTransitionRefund(refund, state)) {
    if (refund.state !== 'pending' || requested === undefined || eventId !== undefined) return undefined;
    const still = withRefund(payment, { ...refund, requested: { ...requested, attempts } });
    return { payment: still, writes: [postponeMarker(context, id, payment, { attempts })] };
  }
  const moved: Refund = {
    ...rest,
    state,
    ...('processorRefundId' in outcome ? { processorRefundId: outcome.processorRefundId } : {}),
  };
  const after = requested && { requested: withResponse(payment, moved, { ...requested, attempts }, outcome) };
  const events = eventId === undefined ? {} : { events: withEvent(payment, eventId) };
  return {
    payment: withRefund({ ...payment, ...events }, { ...moved, ...after }),
    writes: markerWrites(context, payment, refund, moved, attempts),
  };
}

/** Only an open refund has a marker; a refund that another system made has none. */
function markerWrites(
  context: Pick<PaymentContext, 'now'>,
  payment: Payment,
  before: Refund,
  after: Refund,
  attempts: number,
) {
  const id = openId(payment.id, after.id);
  if (before.requested === undefined) return [];
  if (!isOpen(before.state)) return isOpen(after.state) ? [restoreMarker(context, id, payment)] : [];
  return isOpen(after.state) ? [postponeMarker(context, id, payment, { attempts })] : [removeMarker(id)];
}

function isOpen(state: RefundState): boolean {
  return state === 'calling' || state === 'in_doubt' || state === 'pending';
}

/** Adds the response to the request. The first response stays, even if the outcome changes later. */
function withResponse(
  payment: Payment,
  refund: Refund,
  requested: RequestedRefund,
  outcome: RefundOutcome,
): RequestedRefund {
  const response = requested.response ?? responseToRefund(outcome, payment, refund, requested);
  const { keyDigest, ...rest } = requested;
  // Nothing was refunded, so a retry of the same request may succeed.
  const key = outcome.kind === 'not_attempted' || keyDigest === undefined ? {} : { keyDigest };
  return { ...rest, ...key, ...defined({ response }) };
}

/** What an outcome proves. As with a charge, a rejection counts only while its request is the only one. */
function finalOutcome(
  { state }: Refund,
  outcome: RefundOutcome,
  basis: ObservedRefund['basis'],
): RefundOutcome {
  if (state === 'calling' || (outcome.kind !== 'not_attempted' && outcome.kind !== 'rejected'))
    return outcome;
  if (basis === 'proof' && outcome.kind === 'rejected') return outcome;
  return { kind: 'unknown', detail: outcome.detail };
}

function stateAfter({ kind }: RefundOutcome): RefundState {
  if (kind === 'succeeded' || kind === 'pending') return kind;
  return kind === 'unknown' ? 'in_doubt' : 'failed';
}

/** Ends a refund whose outcome cannot be determined. Only a later event from the processor can still change it. */
export async function markRefundForReview(
  context: Pick<PaymentContext, 'engine' | 'log' | 'metrics'>,
  paymentId: string,
  refundId: string,
): Promise<void> {
  const { payment, isChanged } = await changePayment(context, paymentId, (before) => {
    const refund = theRefund(before, refundId);
    if (!mayTransitionRefund(refund, 'needs_review')) return undefined;
    const reviewed = withRefund(before, { ...refund, state: 'needs_review' });
    return { payment: reviewed, writes: [removeMarker(openId(paymentId, refundId))] };
  });
  if (!isChanged) return;
  context.metrics.refund(payment.processor, 'needs_review');
  context.log.error('refund_needs_review', { payment_id: paymentId, refund_id: refundId });
}

function theRefund(payment: Payment, id: string): Refund {
  const refund = findRefund(payment, id);
  if (refund === undefined) throw new Error(`payment ${payment.id} has no refund ${id}`);
  return refund;
}
