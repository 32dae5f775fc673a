import { errorFields, type Log } from '../../log.ts';
import type { Sealer } from '../../secrets/sealer.ts';
import type { Write } from '../../storage/engine.ts';
import { buyerAddressPlace, type Payment } from '../payment.ts';
import type { Outcome } from './outcome.ts';

/**
 * Counts the cards that a buyer's address tries. A thief learns from a challenge, as from a decline, which cards exist; an
 * honest buyer passes the challenge, and then it is given back.
 */
export interface TriedCards {
  /** Counts one card. */
  count(address: string): Promise<CountChange>;
  /** Takes back one `count`. @param countedAt when it was counted or before, in milliseconds since 1970 */
  giveBack(address: string, countedAt: number): Promise<CountChange>;
  /** Whether this is a write of a `CountChange`. */
  isCount(write: Write): boolean;
}

/** A change that the commit makes which decides about the card: so each card counts exactly once. */
export interface CountChange {
  /** They fail if the count has changed since: then ask for the change again. */
  readonly writes: readonly Write[];
  /** Call it after the commit. */
  readonly committed: () => void;
}

/** The field of the record that says whose cards are counted; empty if nobody's. */
export function sealedBuyerAddress(
  { sealer }: { readonly sealer: Pick<Sealer, 'sealBriefly'> },
  paymentId: string,
  address: string | undefined,
): Pick<Payment, 'sealedBuyerAddress'> {
  if (address === undefined) return {};
  return { sealedBuyerAddress: sealer.sealBriefly(address, buyerAddressPlace(paymentId)) };
}

interface Counting {
  readonly sealer: Pick<Sealer, 'open'>;
  readonly triedCards: TriedCards;
  readonly log: Log;
}

/**
 * What a step of a charge changes in the count of its buyer's address: a card counts when it is declined, or when its bank asks
 * for the cardholder; a challenge that succeeds is given back. Every road to an outcome ends in this step.
 */
export async function countChange(
  context: Counting,
  before: Payment,
  after: Payment,
  outcome: Outcome,
): Promise<CountChange> {
  const step = stepOf(before, after, outcome);
  const address = step === 'none' ? undefined : buyerAddressOf(context, before);
  if (address === undefined) return unchanged;
  if (step === 'counts') return context.triedCards.count(address);
  return context.triedCards.giveBack(address, Date.parse(before.createdAt));
}

function stepOf(before: Payment, after: Payment, outcome: Outcome): 'counts' | 'is given back' | 'none' {
  const hasChallenge = before.state === 'requires_action';
  if (after.state === 'succeeded') return hasChallenge ? 'is given back' : 'none';
  if (hasChallenge) return 'none';
  if (after.state === 'requires_action') return 'counts';
  return after.state === 'declined' && isOfBadCard(outcome) ? 'counts' : 'none';
}

/** Whether a charge has ended because its card is declined or invalid. @param outcome the one of this process's request */
export function isDeclinedCard({ state, declineCode }: Payment, outcome: Outcome): boolean {
  return state === 'declined' && (declineCode !== undefined || isOfBadCard(outcome));
}

function isOfBadCard(outcome: Outcome): boolean {
  if (outcome.kind === 'canceled') return outcome.declined !== undefined;
  return outcome.kind === 'declined' || (outcome.kind === 'rejected' && outcome.param === 'token');
}

const unchanged: CountChange = { writes: [], committed: () => undefined };

/** A charge ends also if its address cannot be opened. */
function buyerAddressOf(
  { sealer, log }: Counting,
  { id, sealedBuyerAddress: sealed }: Payment,
): string | undefined {
  try {
    return sealed === undefined ? undefined : sealer.open(sealed, buyerAddressPlace(id));
  } catch (error) {
    log.warn('card_not_counted', { payment_id: id, ...errorFields(error) });
    return undefined;
  }
}
