import { errorFields, type Log } from '../../log.ts';
import type { Sealer } from '../../secrets/sealer.ts';
import { buyerAddressPlace, type Payment } from '../payment.ts';

/**
 * Counts the cards that a buyer's address tries. A thief learns from a challenge, as from a decline, which cards exist; an
 * honest buyer passes it, and then it is given back.
 */
export interface TriedCards {
  /** Counts one card. */
  note(address: string): Promise<void>;
  /** Takes back one `note`. @param notedAt when it was noted or before, in milliseconds since 1970 */
  giveBack(address: string, notedAt: number): Promise<void>;
}

/** The field of the record that says whom a challenge counts for; empty if nobody. */
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
}

/** Counts a challenge that starts. Throws `unavailable`; then the payment must not show its next action. */
export async function noteChallenge(context: Counting, payment: Payment): Promise<void> {
  const address = buyerAddressOf(context, payment);
  if (address !== undefined) await context.triedCards.note(address);
}

/**
 * Gives a challenge back that has succeeded. Call it once. If it fails, or the process dies before it, the challenge stays
 * counted until the limit forgets it.
 *
 * @param before the payment while it waited for its cardholder
 */
export async function giveBackChallenge(
  context: Counting & { readonly log: Log },
  before: Payment,
): Promise<void> {
  try {
    const address = buyerAddressOf(context, before);
    if (address !== undefined) await context.triedCards.giveBack(address, Date.parse(before.createdAt));
  } catch (error) {
    context.log.warn('challenge_not_given_back', { payment_id: before.id, ...errorFields(error) });
  }
}

function buyerAddressOf({ sealer }: Counting, { id, sealedBuyerAddress: sealed }: Payment) {
  return sealed === undefined ? undefined : sealer.open(sealed, buyerAddressPlace(id));
}
