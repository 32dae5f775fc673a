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

/**
 * The states of a charge and its legal transitions. `received` is never stored: the commit that reserves a charge stores
 * it as `calling`, because the processor may be called from then on.
 *
 *   received → calling → succeeded | declined | requires_action | in_doubt
 *                                               in_doubt → succeeded | declined | requires_action | needs_review
 *                             requires_action → succeeded | declined | needs_review
 *                                needs_review → succeeded | declined
 *
 * In `requires_action` the cardholder's bank wants them to authenticate the payment; no process requests the charge again.
 * A known outcome never becomes unknown again. No process executes a charge that needs review; only proof changes it: the
 * processor's event or its records.
 */
export type ChargeState = 'received' | StoredChargeState;

export const storedChargeStates = [
  'calling',
  'requires_action',
  'in_doubt',
  'succeeded',
  'declined',
  'needs_review',
] as const;
export type StoredChargeState = (typeof storedChargeStates)[number];

const transitions: Transitions<ChargeState> = {
  received: ['calling'],
  calling: ['succeeded', 'declined', 'requires_action', 'in_doubt'],
  requires_action: ['requires_action', 'succeeded', 'declined', 'needs_review'],
  in_doubt: ['in_doubt', 'requires_action', 'succeeded', 'declined', 'needs_review'],
  needs_review: ['succeeded', 'declined'],
  succeeded: [],
  declined: [],
};

/**
 * Further transitions with proof. `declined` may have been inferred, for instance from the reply to one of several
 * requests. The processor's signed event or its records override it, and the charge needs review if its item cannot be
 * made. In any state, a charge needs review if the processor reports another amount than that of the payment.
 */
const provenTransitions: Transitions<ChargeState> = {
  ...transitions,
  calling: [...transitions.calling, 'needs_review'],
  needs_review: [...transitions.needs_review, 'needs_review'],
  declined: ['succeeded', 'needs_review'],
};

/** @returns `to`; throws RangeError on an illegal transition, which is always our bug */
export function transitionCharge(from: ChargeState, to: ChargeState): ChargeState {
  return transition('charge', transitions, from, to);
}

/** Like `transitionCharge`, with proof: the processor's signed event or its records. */
export function transitionProvenCharge(from: ChargeState, to: ChargeState): ChargeState {
  return transition('charge', provenTransitions, from, to);
}

/** Whether no process works on the charge any more. */
export function hasEnded(state: ChargeState): boolean {
  return isFinal(state) || state === 'needs_review';
}

/** Whether the outcome is known. */
export function isFinal(state: ChargeState): boolean {
  return transitions[state].length === 0;
}
