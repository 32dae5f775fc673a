import { ServiceError } from '../../errors.ts';
import type { Write } from '../../storage/engine.ts';
import { type ChargeState, hasEnded, isKnown, moveCharge, moveProvenCharge } from '../charge-state.ts';
import type { PaymentParts } from '../context.ts';
import { keptFor, letGo, made } from '../fulfilment.ts';
import { eventsPerPaymentMax } from '../limits.ts';
import { closed, openId, waiting } from '../ownership/marker.ts';
import { chargeEntry, chargesSpace, type Payment, paymentKeysSpace } from '../payment.ts';
import { type Change, changePayment, WriteRefused } from '../payment-store.ts';
import type { Settlement } from './outcome.ts';
import { answerOf, reviewAnswer } from './response.ts';

/** What has been learned of a charge, and from whom. */
export interface Finding {
  readonly outcome: Settlement;
  /** The processor's event that reported it; absent where the processor was asked. */
  readonly eventId?: string;
  /**
   * `reply`: the reply to the request that this process sent. `proof`: the processor's books were looked at, or it has signed
   * an event. A success is proof either way, for it names a charge.
   */
  readonly basis: 'reply' | 'proof';
  /** What is to be written with it, where this is an administrative act (`audited`). */
  readonly audit?: Write;
}

/**
 * The third step: one commit with the outcome, the exact answer, the item of the route, and the marker removed; the
 * token is erased. It changes nothing where the outcome is known already, whoever learned it: the first to settle a
 * charge has settled it. Only a success overrides a decline.
 *
 * @param known the payment as this process has last seen it
 * @returns the payment as it is now
 */
export async function settleCharge(
  parts: PaymentParts,
  id: string,
  finding: Finding,
  known?: Payment,
): Promise<Payment> {
  const refused: Write[] = [];
  for (;;) {
    try {
      let before: Payment | undefined;
      const change = (payment: Payment) => {
        before = payment;
        return changed(parts, payment, finding, refused);
      };
      const { payment, isChanged } = await changePayment(parts, id, change, known);
      if (isChanged && before?.state !== payment.state) report(parts, payment, finding, before?.state);
      else if (isChanged && payment.state === 'in_doubt') report(parts, payment, finding, before?.state);
      if (before?.state === 'declined') await releaseHold(parts, payment);
      return payment;
    } catch (error) {
      // An item that somebody has made meanwhile, or a charge id that is known: the money has moved all the same.
      if (!(error instanceof WriteRefused) || error.write === undefined) throw error;
      refused.push(error.write);
      if (refused.length > 3) throw error;
    }
  }
}

function changed(
  parts: PaymentParts,
  payment: Payment,
  finding: Finding,
  refused: readonly Write[],
): Change | undefined {
  const outcome = conclusion(payment, finding);
  if (payment.state === 'declined' && outcome.kind === 'succeeded')
    return overridden(parts, payment, finding, refused);
  // A charge that is proven to be made, and needs review for its item, is a person's to end.
  if (payment.chargeId !== undefined && finding.audit === undefined) return noted(payment, finding);
  if (isKnown(payment.state) || (hasEnded(payment.state) && outcome.kind === 'unknown')) return undefined;
  const id = openId(payment.id);
  const wasOpen = !hasEnded(payment.state);
  const after = { ...withFinding(payment, finding), state: moveCharge(payment.state, stateOf(outcome)) };
  if (!hasEnded(after.state))
    return { payment: after, writes: [waiting(parts, id, payment, after.attempts)] };

  const ended = withOutcome(after, outcome);
  const item = itemMade(parts, ended).filter((write) => isFree(write, refused));
  return {
    payment: { ...ended, ...itemState(ended, item.length > 0) },
    writes: [
      ...(wasOpen ? [closed(id)] : []),
      ...(payment.item === undefined ? [] : letGo(payment.item, payment.id)),
      ...(outcome.kind === 'not_taken' ? keyFreed(payment) : []),
      ...chargeNoted(ended).filter((write) => isFree(write, refused)),
      ...item,
      ...auditOf(finding),
    ],
  };
}

/** Proof of success overrides an inferred decline. If the item is taken or held, the payment needs review. */
function overridden(
  parts: PaymentParts,
  payment: Payment,
  finding: Finding,
  refused: readonly Write[],
): Change {
  const { outcome } = finding;
  const { declineCode: _inferred, ...kept } = withFinding(payment, finding);
  const succeeded = withOutcome({ ...kept, state: moveProvenCharge(payment.state, 'succeeded') }, outcome);
  const item = itemMade(parts, succeeded).filter((write) => isFree(write, refused));
  const hold = payment.item === undefined ? [] : keptFor(payment.item, payment.id);
  const isHeldByOther = hold.some((write) => !isFree(write, refused));
  const isLost = payment.item !== undefined && (item.length === 0 || isHeldByOther);
  const after: Payment = isLost
    ? {
        ...succeeded,
        state: moveProvenCharge(payment.state, 'needs_review'),
        answer: reviewAnswer(payment, chargedWithoutItem),
      }
    : succeeded;
  return {
    payment: { ...after, ...itemState(succeeded, !isLost) },
    writes: [
      ...chargeNoted(after).filter((write) => isFree(write, refused)),
      // With the hold in the same commit nobody else can be paying for the item; it is released right after.
      ...(isLost ? [] : [...hold, ...item]),
      ...auditOf(finding),
    ],
  };
}

const chargedWithoutItem =
  'The charge was first reported as declined but succeeded. Its item has been sold: the shop must refund the charge or ' +
  'deliver another item.';

/** Only that the event has been seen. */
function noted(payment: Payment, { eventId }: Finding): Change | undefined {
  if (eventId === undefined || payment.events?.includes(eventId)) return undefined;
  return { payment: { ...payment, events: withEvent(payment, eventId) } };
}

/** The hold that an override has taken. Should it stay, the next buyer of the item removes it. */
async function releaseHold(parts: PaymentParts, { item, id }: Payment): Promise<void> {
  if (item?.state === 'made') await parts.engine.commit(letGo({ ...item, state: 'awaited' }, id));
}

function withFinding(payment: Payment, { eventId }: Finding): Payment {
  if (eventId === undefined) return { ...payment, attempts: payment.attempts + 1 };
  return { ...payment, events: withEvent(payment, eventId) };
}

function isFree({ space, id }: Write, refused: readonly Write[]): boolean {
  return !refused.some((write) => write.space === space && write.id === id);
}

function auditOf({ audit }: Finding): Write[] {
  return audit === undefined ? [] : [audit];
}

/** Nothing was asked: the same request may fare better later. */
function keyFreed({ keyEntry }: Payment): Write[] {
  return keyEntry === undefined ? [] : [{ kind: 'delete', space: paymentKeysSpace, id: keyEntry }];
}

/**
 * A rejection in reply to a request counts while that request is the only one. Once somebody else has taken the charge
 * over and may have asked again, it proves nothing about the other request; then the books are looked at.
 */
function conclusion({ state }: Payment, { outcome, basis }: Finding): Settlement {
  if (outcome.kind === 'succeeded' || outcome.kind === 'unknown' || state === 'calling') return outcome;
  if (basis !== 'reply' && outcome.kind !== 'not_taken') return outcome;
  const detail = 'detail' in outcome ? outcome.detail : outcome.kind;
  return { kind: 'unknown', detail: `rejected when it may have been sent twice: ${detail}` };
}

function stateOf({ kind }: Settlement): ChargeState {
  if (kind === 'succeeded') return 'succeeded';
  return kind === 'unknown' ? 'in_doubt' : 'declined';
}

/** A payment that has ended has its answer, and its token is erased. */
function withOutcome(payment: Payment, outcome: Settlement): Payment {
  return {
    ...withoutToken(payment),
    ...(outcome.kind === 'succeeded' ? { chargeId: outcome.chargeId } : {}),
    ...('declineCode' in outcome ? { declineCode: outcome.declineCode } : {}),
    answer: answerOf(outcome, payment),
  };
}

function withoutToken(payment: Payment): Payment {
  const { sealedToken: _erased, ...kept } = payment;
  return kept;
}

export function withEvent({ events = [] }: Payment, id: string): readonly string[] {
  return [...events, id].slice(-eventsPerPaymentMax);
}

function chargeNoted({ id, processor, chargeId }: Payment): Write[] {
  if (chargeId === undefined) return [];
  return [
    {
      kind: 'create',
      space: chargesSpace,
      id: chargeEntry(processor, chargeId),
      value: id,
      makeSpace: true,
    },
  ];
}

/** None where the settings no longer let the item be made: the charge ends all the same, and the log says so. */
function itemMade(parts: PaymentParts, payment: Payment): Write[] {
  if (payment.state !== 'succeeded') return [];
  try {
    const write = made(parts, payment);
    return write === undefined ? [] : [write];
  } catch (error) {
    if (error instanceof ServiceError) return [];
    throw error;
  }
}

function itemState({ item, state }: Payment, isMade: boolean): Pick<Payment, 'item'> {
  if (item === undefined) return {};
  if (state !== 'succeeded') return { item: { ...item, state: 'not_made' } };
  return { item: { ...item, state: isMade ? 'made' : 'conflict' } };
}

/** Nobody can find out what became of it: the end, unless the processor itself reports it one day. */
export async function giveToReview(parts: PaymentParts, id: string): Promise<void> {
  const { payment, isChanged } = await changePayment(parts, id, (before) => {
    if (hasEnded(before.state)) return undefined;
    const state = moveCharge(before.state, 'needs_review');
    const reviewed = { ...withoutToken(before), state, answer: reviewAnswer(before) };
    return { payment: reviewed, writes: [closed(openId(id))] };
  });
  if (!isChanged) return;
  const { processor, route, state } = payment;
  parts.metrics.charge(processor, route, state);
  parts.log.error('charge_needs_review', { payment_id: payment.id, processor });
}

function report(
  parts: PaymentParts,
  payment: Payment,
  { outcome, eventId }: Finding,
  before: ChargeState | undefined,
): void {
  const { id: payment_id, processor, route, state } = payment;
  const event = eventId === undefined ? {} : { event_id: eventId };
  // One that stays in doubt has come there once.
  if (state !== 'in_doubt' || before !== 'in_doubt') parts.metrics.charge(processor, route, state);
  const detail = 'detail' in outcome ? outcome.detail : undefined;
  parts.log.info('charge', { request_id: payment.requestId, payment_id, processor, state, detail, ...event });
  if (before === 'declined') {
    parts.metrics.chargeOverridden(processor);
    parts.log.error('decline_overridden', { payment_id, processor, state, ...event });
  }
  if (payment.item?.state === 'conflict') parts.log.error('item_not_made', { payment_id });
}
