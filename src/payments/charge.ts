/**
 * The states of a charge and its legal moves. `received` is never stored: the commit that reserves a charge stores
 * it as `calling`, for from then on the processor may have been asked.
 *
 *   received → calling → succeeded | declined | in_doubt
 *                                               in_doubt → succeeded | declined | needs_review
 *
 * A charge that has ended never moves again.
 */
export type ChargeState = 'received' | 'calling' | 'in_doubt' | 'succeeded' | 'declined' | 'needs_review';

const moves: Readonly<Record<ChargeState, readonly ChargeState[]>> = {
  received: ['calling'],
  calling: ['succeeded', 'declined', 'in_doubt'],
  in_doubt: ['in_doubt', 'succeeded', 'declined', 'needs_review'],
  succeeded: [],
  declined: [],
  needs_review: [],
};

/** @returns `to`; throws RangeError on a move that is not legal, which is always a mistake of ours */
export function move(from: ChargeState, to: ChargeState): ChargeState {
  if (!moves[from].includes(to)) throw new RangeError(`a charge cannot go from ${from} to ${to}`);
  return to;
}

export function hasEnded(state: ChargeState): boolean {
  return moves[state].length === 0;
}
