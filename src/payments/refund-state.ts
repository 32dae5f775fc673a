import type { StoredResponse } from '../envelope.ts';
import { type Transitions, transition } from './charge-state.ts';

/**
 * The states of a refund and its legal transitions. As with a charge, the commit that reserves it stores it as `calling`.
 *
 *   calling → pending | succeeded | failed | in_doubt
 *                                            in_doubt → pending | succeeded | failed | needs_review
 *                                                                                      needs_review → as in_doubt
 *   pending → succeeded | failed
 *   succeeded → failed
 *
 * The last transition is legal because the cardholder's bank may reject a refund days later and return the money
 * (https://docs.stripe.com/refunds#failed-refunds).
 */
export type RefundState = (typeof refundStates)[number];
export const refundStates = [
  'calling',
  'in_doubt',
  'pending',
  'succeeded',
  'failed',
  'needs_review',
] as const;

const outcomes = ['pending', 'succeeded', 'failed'] as const;
const transitions: Transitions<RefundState> = {
  calling: [...outcomes, 'in_doubt'],
  in_doubt: [...outcomes, 'in_doubt', 'needs_review'],
  needs_review: outcomes,
  pending: ['succeeded', 'failed'],
  succeeded: ['failed'],
  failed: [],
};

/** @returns `to`; throws RangeError on an illegal transition, which is always our bug */
export function transitionRefund(from: RefundState, to: RefundState): RefundState {
  return transition('refund', transitions, from, to);
}

/**
 * Whether a refund may go to this state. The processor's records override a failure without a processor id, because it
 * was never confirmed.
 */
export function mayTransitionRefund({ state: from, processorRefundId }: Refund, to: RefundState): boolean {
  if (from === 'failed' && processorRefundId === undefined) return to === 'succeeded' || to === 'pending';
  return transitions[from].includes(to);
}

/** A refund as stored in its payment's record. */
export interface Refund {
  /** `ref_…`, or the processor's id if another system made the refund. */
  readonly id: string;
  readonly state: RefundState;
  /** In the smallest unit of the payment's currency. */
  readonly amount: number;
  readonly createdAt: string;
  readonly processorRefundId?: string;
  /** Absent if another system made the refund, for instance the processor's dashboard. */
  readonly requested?: RequestedRefund;
}

/** The further fields of a refund that this service requested. */
export interface RequestedRefund {
  /** Our idempotency key for the processor, the same for every attempt. */
  readonly processorKey: string;
  readonly attempts: number;
  readonly requestId: string;
  /** The digest of the caller's idempotency key. */
  readonly keyDigest?: string;
  /** Whether the caller omitted the amount, to refund everything that was left. */
  readonly isRest: boolean;
  /** The exact response; absent until the refund has one. */
  readonly response?: StoredResponse;
}
