import type { RefundOutcome } from '../../processors/processor.ts';
import { withEvent } from '../charge/settle.ts';
import type { PaymentContext } from '../context.ts';
import { openId, postponeMarker, removeMarker, restoreMarker } from '../ownership/marker.ts';
import type { Payment } from '../payment.ts';
import { type Change, changePayment } from '../payment-store.ts';
import { type AskedRefund, mayTransitionRefund, type Refund, type RefundState } from '../refund-state.ts';
import { findRefund, withRefund } from './amounts.ts';
import { refundResponseOf } from './response.ts';

export interface RefundFinding {
  readonly outcome: RefundOutcome;
  /** The processor's event that told it; absent where the processor was asked. */
  readonly eventId?: string;
  /** As of a charge's finding (`settle-charge.ts`). */
  readonly basis: 'reply' | 'proof';
}

/**
 * The third step of a refund: one commit with the outcome, the exact answer, and the marker. What would be a step
 * back changes nothing: somebody else has learned more.
 *
 * @returns the refund as it is now
 */
export async function settleRefund(
  context: PaymentContext,
  paymentId: string,
  refundId: string,
  finding: RefundFinding,
): Promise<Refund> {
  let stateBefore: RefundState | undefined;
  const { payment, isChanged } = await changePayment(context, paymentId, (before) => {
    const refund = theRefund(before, refundId);
    stateBefore = refund.state;
    return settled(context, before, refund, finding);
  });
  const refund = theRefund(payment, refundId);
  if (isChanged) {
    const { outcome } = finding;
    // One that is still being looked after has come to its state once.
    if (!isOpen(refund.state) || (refund.asked?.attempts ?? 0) <= 1)
      context.metrics.refund(payment.processor, refund.state);
    if (stateBefore === 'failed')
      context.log.error('refund_overridden', { payment_id: paymentId, refund_id: refundId });
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
  context: PaymentContext,
  payment: Payment,
  refund: Refund,
  { outcome: learned, eventId, basis }: RefundFinding,
): Change | undefined {
  const outcome = conclusion(refund, learned, basis);
  const state = stateOf(outcome);
  const { asked, ...kept } = refund;
  const attempts = (asked?.attempts ?? 0) + (eventId === undefined ? 1 : 0);
  const id = openId(payment.id, refund.id);
  if (!mayTransitionRefund(refund, state)) {
    if (refund.state !== 'pending' || asked === undefined || eventId !== undefined) return undefined;
    const still = withRefund(payment, { ...refund, asked: { ...asked, attempts } });
    return { payment: still, writes: [postponeMarker(context, id, payment, attempts)] };
  }
  const moved: Refund = {
    ...kept,
    state,
    ...('processorRefundId' in outcome ? { processorRefundId: outcome.processorRefundId } : {}),
  };
  const after = asked && { asked: withAnswer(payment, moved, { ...asked, attempts }, outcome) };
  const events = eventId === undefined ? {} : { events: withEvent(payment, eventId) };
  return {
    payment: withRefund({ ...payment, ...events }, { ...moved, ...after }),
    writes: markerOf(context, payment, refund, moved, attempts),
  };
}

/** What has not come to its end is looked after; one that was made elsewhere, or has ended before, has no marker. */
function markerOf(
  context: PaymentContext,
  payment: Payment,
  before: Refund,
  after: Refund,
  attempts: number,
) {
  const id = openId(payment.id, after.id);
  if (before.asked === undefined) return [];
  if (!isOpen(before.state)) return isOpen(after.state) ? [restoreMarker(context, id, payment)] : [];
  return isOpen(after.state) ? [postponeMarker(context, id, payment, attempts)] : [removeMarker(id)];
}

function isOpen(state: RefundState): boolean {
  return state === 'calling' || state === 'in_doubt' || state === 'pending';
}

/** The first answer stays the answer, whatever becomes of the refund later. */
function withAnswer(
  payment: Payment,
  refund: Refund,
  asked: AskedRefund,
  outcome: RefundOutcome,
): AskedRefund {
  const answer = asked.answer ?? refundResponseOf(outcome, payment, refund, asked);
  const { keyDigest, ...kept } = asked;
  // Nothing was asked: the same request may fare better later.
  const key = outcome.kind === 'not_attempted' || keyDigest === undefined ? {} : { keyDigest };
  return { ...kept, ...key, ...(answer === undefined ? {} : { answer }) };
}

/** A rejection in reply to a request counts while that request is the only one, as with a charge. */
function conclusion({ state }: Refund, outcome: RefundOutcome, basis: RefundFinding['basis']): RefundOutcome {
  if (state === 'calling' || (outcome.kind !== 'not_attempted' && outcome.kind !== 'refused')) return outcome;
  if (basis === 'proof' && outcome.kind === 'refused') return outcome;
  return { kind: 'unknown', detail: outcome.detail };
}

function stateOf({ kind }: RefundOutcome): RefundState {
  if (kind === 'succeeded' || kind === 'pending') return kind;
  return kind === 'unknown' ? 'in_doubt' : 'failed';
}

/** Nobody can find out what became of it: the end, unless the processor itself reports it one day. */
export async function giveRefundToReview(
  context: PaymentContext,
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
