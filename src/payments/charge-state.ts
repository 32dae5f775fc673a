import { type Transitions, transition } from './transitions.ts';

/**
 * The states of a charge and its legal transitions. `received` is never stored: the commit that reserves a charge stores
 * it as `calling`, for from then on the processor may have been asked.
 *
 *   received → calling → succeeded | declined | in_doubt
 *                                               in_doubt → succeeded | declined | needs_review
 *                                                                                 needs_review → succeeded | declined
 *
 * What is known never becomes unknown again. Nobody executes a charge that needs review; only proof moves it on: the
 * processor's own event, or its books.
 */
export type ChargeState = 'received' | 'calling' | 'in_doubt' | 'succeeded' | 'declined' | 'needs_review';

const moves: Transitions<ChargeState> = {
  received: ['calling'],
  calling: ['succeeded', 'declined', 'in_doubt'],
  in_doubt: ['in_doubt', 'succeeded', 'declined', 'needs_review'],
  needs_review: ['succeeded', 'declined'],
  succeeded: [],
  declined: [],
};

/**
 * What proof may do beside. `declined` may have been inferred, from the reply to one of several requests for instance; what
 * the processor has signed, or has on its books, overrides it. It then needs review where the goods cannot follow the
 * money.
 */
const provenMoves: Transitions<ChargeState> = {
  ...moves,
  declined: ['succeeded', 'needs_review'],
};

/** @returns `to`; throws RangeError on a transition that is not legal, which is always a mistake of ours */
export function transitionCharge(from: ChargeState, to: ChargeState): ChargeState {
  return transition('charge', moves, from, to);
}

/** As `transitionCharge`, for what the processor has signed or has on its books. */
export function transitionProvenCharge(from: ChargeState, to: ChargeState): ChargeState {
  return transition('charge', provenMoves, from, to);
}

/** Whether nobody executes it any more. */
export function hasEnded(state: ChargeState): boolean {
  return isFinal(state) || state === 'needs_review';
}

/** Whether it is known what became of it. */
export function isFinal(state: ChargeState): boolean {
  return moves[state].length === 0;
}
