import { wordsOfPairs } from '../stripe/pairs.ts';

/**
 * The outcome of a charge or a refund once everything is repaired. `undecided` stays so: Stripe replays its error as
 * long as it remembers the key. `turned away`: Stripe never processes the request.
 */
export type Ending =
  | 'done'
  | 'declined'
  | 'rejected'
  | 'done or rejected'
  | 'done or undecided'
  | 'undecided'
  | 'turned away';

/** Whether the outcome may stay open, so that waiting for it is useless. */
export function mayStayOpen(ending: FaultWord['refund'] | undefined): boolean {
  return ending === 'undecided' || ending === 'done or undecided' || ending === 'turned away';
}

export const statusesOf: Readonly<Record<Ending, readonly number[]>> = {
  done: [200],
  declined: [402],
  rejected: [400],
  'done or rejected': [200, 400],
  'done or undecided': [200],
  undecided: [],
  'turned away': [],
};

/** A word of the scripted Stripe, and its effect on the charge and on the refund. */
export interface FaultWord {
  readonly word: string;
  readonly charge: Ending;
  /** `failed`: the bank rejects the refund, which is a 502 that is not retryable. */
  readonly refund: Ending | 'failed';
  /** Stripe does not respond, so that the service waits until its timeout. */
  readonly isHeld?: true;
}

function ending(charge: Ending, words: string, more: Partial<FaultWord> = {}): FaultWord[] {
  return words.split(/\s+/).map((word) => ({ word, charge, refund: 'done', ...more }));
}

export const plainWords: readonly FaultWord[] = [
  ...ending(
    'done',
    'paid visa mastercard_debit rate_limited key_in_use dependency_failed processing worked_on',
  ),
  ...ending(
    'done',
    'error_after_charging dropped_after_charging cut_after_charging malformed_after_charging',
  ),
  ...ending('done', 'delayed method_dropped method_cut'),
  // A service that was killed meanwhile repeats the request with the same key, and gets the same error.
  ...ending('done or undecided', 'method_error'),
  ...ending('done', 'dropped_late never_replies method_never_replies', { isHeld: true }),
  ...ending('declined', 'insufficient_funds generic_decline expired_card authentication_required'),
  ...ending('declined', 'declined_and_dropped declined_and_cut error_after_declining method_declined'),
  ...ending('declined', 'processing_then_declined worked_on_then_declined'),
  ...ending('rejected', 'amount_too_small currency_not_accepted'),
  ...ending('undecided', 'error_before_charging error_while_confirming'),
  ...ending('turned away', 'bad_key'),
];

export const refundWords: readonly FaultWord[] = [
  ...ending('done', 'refund_pending refund_rate_limited refund_key_in_use refund_error_after refund_dropped'),
  ...ending('done', 'refund_cut refund_malformed refund_delayed'),
  ...ending('done', 'refund_dropped_late refund_never_replies', { isHeld: true }),
  ...ending('done', 'refund_failed', { refund: 'failed' }),
  ...ending('done', 'refund_rejected', { refund: 'rejected' }),
  ...ending('done', 'refund_error_before', { refund: 'undecided' }),
];

/** With 400 and 404 Stripe rejects the request itself: if nothing was done before, that is the outcome. */
const endsRejected = /(reset_before|method).*_then_(400|404)$/;

export const pairWords: readonly FaultWord[] = [
  ...wordsOfPairs('method').map((word) => pairWord(word, 'charge')),
  ...wordsOfPairs('intent').map((word) => pairWord(word, 'charge')),
  ...wordsOfPairs('refund').map((word) => pairWord(word, 'refund')),
];

function pairWord(word: string, what: 'charge' | 'refund'): FaultWord {
  const end: Ending = endsRejected.test(word) ? 'done or rejected' : 'done';
  return { word, charge: 'done', refund: 'done', [what]: end };
}

/** Faults of the first of the two calls to Stripe, which uses up the token; none of them rejects the token itself. */
export const lostMethodWords: readonly FaultWord[] = [...plainWords, ...pairWords].filter(
  ({ word, charge }) => charge === 'done' && /^method_(?!error)/.test(word),
);
