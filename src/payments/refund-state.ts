import type { StoredResponse } from './stored-response.ts';
import { type Transitions, transition } from './transitions.ts';

/**
 * The states of a refund and its legal moves; as with a charge the commit that reserves it stores it as `calling`.
 *
 *   calling → pending | succeeded | failed | in_doubt
 *                                            in_doubt → pending | succeeded | failed | needs_review
 *                                                                                      needs_review → as in_doubt
 *   pending → succeeded | failed
 *   succeeded → failed
 *
 * The last one is no step back: the cardholder's bank may return a refund days later, and then the money is with us
 * again (https://docs.stripe.com/refunds#failed-refunds).
 */
export type RefundState = 'calling' | 'in_doubt' | 'pending' | 'succeeded' | 'failed' | 'needs_review';

const outcomes = ['pending', 'succeeded', 'failed'] as const;
const moves: Transitions<RefundState> = {
  calling: [...outcomes, 'in_doubt'],
  in_doubt: [...outcomes, 'in_doubt', 'needs_review'],
  needs_review: outcomes,
  pending: ['succeeded', 'failed'],
  succeeded: ['failed'],
  failed: [],
};

/** @returns `to`; throws RangeError on a move that is not legal, which is always a mistake of ours */
export function transitionRefund(from: RefundState, to: RefundState): RefundState {
  return transition('refund', moves, from, to);
}

/**
 * A failed refund without a processor id was never confirmed; the processor's books override it.
 */
export function mayTransitionRefund({ state: from, processorRefundId }: Refund, to: RefundState): boolean {
  if (from === 'failed' && processorRefundId === undefined) return to === 'succeeded' || to === 'pending';
  return moves[from].includes(to);
}

/** A refund as it lies in its payment's record. */
export interface Refund {
  /** `ref_…`, or the processor's own id where it was not made here. */
  readonly id: string;
  readonly state: RefundState;
  /** In the smallest unit of the payment's currency. */
  readonly amount: number;
  readonly createdAt: string;
  readonly processorRefundId?: string;
  /** Absent where it was made elsewhere, for instance in the processor's dashboard. */
  readonly asked?: AskedRefund;
}

/** What is known of a refund that was asked for here. */
export interface AskedRefund {
  /** Our own idempotency key towards the processor, the same for every attempt. */
  readonly processorKey: string;
  readonly attempts: number;
  readonly requestId: string;
  /** Of the caller's idempotency key. */
  readonly keyDigest?: string;
  /** Whether the caller left the amount out: all there was. */
  readonly isRest: boolean;
  /** The answer, to the byte; absent while there is none to repeat. */
  readonly answer?: StoredResponse;
}
