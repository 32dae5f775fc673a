import { eventsPerPaymentMax } from '../limits.ts';
import type { ChargeOutcome } from '../processors/processor.ts';
import type { Write } from '../storage/engine.ts';
import { answerOf, reviewAnswer } from './answer.ts';
import { type ChargeState, hasEnded, isKnown, moveCharge } from './charge.ts';
import { closed, openId, waiting } from './open.ts';
import { letGo, made } from './paid-item.ts';
import type { PaymentParts } from './parts.ts';
import { chargeEntry, chargesSpace, type Payment, paymentKeysSpace } from './payment.ts';
import { type Change, changePayment, WriteRefused } from './records.ts';

/** What has been learned of a charge, from whom. */
export interface Finding {
  readonly outcome: ChargeOutcome;
  /** The processor's event that told it; absent where the processor was asked. */
  readonly eventId?: string;
}

/**
 * The third step: one commit with the outcome, the exact answer, the item of the route, and the marker removed; the
 * token is erased. It changes nothing where the outcome is known already, whoever learned it: the first to settle a
 * charge has settled it.
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
      const change = (payment: Payment) => settled(parts, payment, finding, refused);
      const { payment, isChanged } = await changePayment(parts, id, change, known);
      if (isChanged) tell(parts, payment, finding);
      return payment;
    } catch (error) {
      // An item that somebody has made meanwhile, or a charge id that is known: the money has moved all the same.
      if (!(error instanceof WriteRefused) || error.write === undefined) throw error;
      refused.push(error.write);
      if (refused.length > 2) throw error;
    }
  }
}

function settled(
  parts: PaymentParts,
  payment: Payment,
  { outcome: learned, eventId }: Finding,
  refused: readonly Write[],
): Change | undefined {
  const outcome = knownOutcome(payment, learned);
  if (isKnown(payment.state) || (hasEnded(payment.state) && outcome.kind === 'unknown')) return undefined;
  const id = openId(payment.id);
  const wasOpen = !hasEnded(payment.state);
  const state = moveCharge(payment.state, stateOf(outcome));
  const events = eventId === undefined ? {} : { events: withEvent(payment, eventId) };
  const after = {
    ...payment,
    ...events,
    state,
    attempts: payment.attempts + (eventId === undefined ? 1 : 0),
  };
  if (!hasEnded(state)) return { payment: after, writes: [waiting(parts, id, after.attempts)] };

  const ended = withOutcome(after, outcome);
  const isFree = (write: Write) => !refused.some(({ space, id }) => space === write.space && id === write.id);
  const item = itemMade(parts, ended).filter(isFree);
  return {
    payment: { ...ended, ...itemState(ended, item.length > 0) },
    writes: [
      ...(wasOpen ? [closed(id)] : []),
      ...(payment.item === undefined ? [] : letGo(payment.item)),
      ...(outcome.kind === 'not_taken' ? keyFreed(payment) : []),
      ...chargeNoted(ended).filter(isFree),
      ...item,
    ],
  };
}

/** Nothing was asked: the same request may fare better later. */
function keyFreed({ keyEntry }: Payment): Write[] {
  return keyEntry === undefined ? [] : [{ kind: 'delete', space: paymentKeysSpace, id: keyEntry }];
}

/** Being turned away now proves nothing about an earlier attempt, which may have charged. */
function knownOutcome({ state }: Payment, outcome: ChargeOutcome): ChargeOutcome {
  if (outcome.kind !== 'not_taken' || state === 'calling') return outcome;
  return { kind: 'unknown', detail: outcome.detail };
}

function stateOf({ kind }: ChargeOutcome): ChargeState {
  if (kind === 'succeeded') return 'succeeded';
  return kind === 'unknown' ? 'in_doubt' : 'declined';
}

/** A payment that has ended has its answer, and its token is erased. */
function withOutcome(payment: Payment, outcome: ChargeOutcome): Payment {
  return {
    ...withoutToken(payment),
    ...(outcome.kind === 'succeeded' ? { chargeId: outcome.chargeId } : {}),
    ...(outcome.kind === 'declined' ? { declineCode: outcome.declineCode } : {}),
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

function itemMade(parts: PaymentParts, payment: Payment): Write[] {
  const write = payment.state === 'succeeded' ? made(parts, payment) : undefined;
  return write === undefined ? [] : [write];
}

function itemState({ item, state }: Payment, isMade: boolean): Pick<Payment, 'item'> {
  if (item === undefined) return {};
  if (state !== 'succeeded') return { item: { ...item, state: 'not_made' } };
  return { item: { ...item, state: isMade ? 'made' : 'conflict' } };
}

/** Nobody can find out what became of it: the end, unless the processor itself tells one day. */
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

function tell(parts: PaymentParts, payment: Payment, { outcome, eventId }: Finding): void {
  // One that stays in doubt has come there once.
  if (payment.state !== 'in_doubt' || payment.attempts === 1)
    parts.metrics.charge(payment.processor, payment.route, payment.state);
  parts.log.info('charge', {
    request_id: payment.requestId,
    payment_id: payment.id,
    processor: payment.processor,
    state: payment.state,
    detail: 'detail' in outcome ? outcome.detail : undefined,
    ...(eventId === undefined ? {} : { event_id: eventId }),
  });
  if (payment.item?.state === 'conflict') parts.log.error('item_not_made', { payment_id: payment.id });
}
