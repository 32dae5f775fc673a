/** The legal moves of a state machine: where each state may go. */
export type Transitions<State extends string> = Readonly<Record<State, readonly State[]>>;

/** @returns `to`; throws RangeError on a move that is not legal, which is always a mistake of ours */
export function transition<State extends string>(
  what: string,
  moves: Transitions<State>,
  from: State,
  to: State,
): State {
  if (!moves[from].includes(to)) throw new RangeError(`a ${what} cannot go from ${from} to ${to}`);
  return to;
}
