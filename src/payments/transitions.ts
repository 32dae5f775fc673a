/** The legal transitions of a state machine: the next states of each state. */
export type Transitions<State extends string> = Readonly<Record<State, readonly State[]>>;

/** @returns `to`; throws RangeError on an illegal transition, which is always our bug */
export function transition<State extends string>(
  what: string,
  transitions: Transitions<State>,
  from: State,
  to: State,
): State {
  if (!transitions[from].includes(to)) throw new RangeError(`a ${what} cannot go from ${from} to ${to}`);
  return to;
}
