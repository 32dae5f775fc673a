import { type Moves, move } from './moves.ts';

/**
 * The states of a charge and its legal moves. `received` is never stored: the commit that reserves a charge stores
 * it as `calling`, for from then on the processor may have been asked.
 *
 *   received → calling → succeeded | declined | in_doubt
 *                                               in_doubt → succeeded | declined | needs_review
 *                                                                                 needs_review → succeeded | declined
 *
 * What is known never becomes unknown again. Nobody drives a charge that needs review; only proof moves it on: the
 * processor's own event, or its books.
 */
export type ChargeState = 'received' | 'calling' | 'in_doubt' | 'succeeded' | 'declined' | 'needs_review';

const moves: Moves<ChargeState> = {
  received: ['calling'],
  calling: ['succeeded', 'declined', 'in_doubt'],
  in_doubt: ['in_doubt', 'succeeded', 'declined', 'needs_review'],
  needs_review: ['succeeded', 'declined'],
  succeeded: [],
  declined: [],
};

/** @returns `to`; throws RangeError on a move that is not legal, which is always a mistake of ours */
export function moveCharge(from: ChargeState, to: ChargeState): ChargeState {
  return move('charge', moves, from, to);
}

/** Whether nobody drives it any more. */
export function hasEnded(state: ChargeState): boolean {
  return isKnown(state) || state === 'needs_review';
}

/** Whether it is known what became of it. */
export function isKnown(state: ChargeState): boolean {
  return moves[state].length === 0;
}
