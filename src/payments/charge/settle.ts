import type { Write } from '../../storage/engine.ts';
import { countChange } from '../card-testing.ts';
import { type ChargeState, hasEnded, transitionCharge } from '../charge-state.ts';
import type { PaymentContext, SettleChargeContext } from '../context.ts';
import { releaseItem } from '../fulfilment.ts';
import { openId, removeMarker } from '../ownership/marker.ts';
import type { Payment } from '../payment.ts';
import { changePayment, commitChange, requiredPayment } from '../payment-store.ts';
import { type ObservedOutcome, otherAmount, otherAmountDetail } from './outcome.ts';
import { reviewResponse } from './response.ts';
import { settlement, withoutSecrets } from './settlement.ts';

/** How many writes of a settlement may be left out, one after another: the item, its hold and the charge id. */
const rejectedMax = 3;

/**
 * The third step: one commit stores the outcome, the exact response and the route's item, removes the marker, erases the token and
 * counts the card. A known outcome does not change: the first process to settle a charge wins. Only a success overrides a decline.
 *
 * @param known the payment as this process last saw it
 * @returns the payment as it is now
 */
export async function settleCharge(
  context: SettleChargeContext,
  id: string,
  observed: ObservedOutcome,
  known?: Payment,
): Promise<Payment> {
  const rejected: Write[] = [];
  for (let last = known; ; ) {
    const before = last ?? (await requiredPayment(context, id));
    const change = settlement(context, before, observed, rejected);
    if (change === undefined) return before;
    const count = await countChange(context, before, change.payment, observed.outcome);
    const writes = [...(change.writes ?? []), ...count.writes];
    const failed = await commitChange(context, before, { ...change, writes });
    if (failed === undefined) {
      count.committed();
      report(context, before.state, change.payment, observed);
      if (before.state === 'declined') await releaseHold(context, change.payment);
      return change.payment;
    }
    const { write } = failed;
    last = write === undefined ? undefined : before;
    // Another card of the address was counted meanwhile. Of two such commits, one always succeeds.
    if (write === undefined || context.cardTesting.isCount(write)) continue;
    // The item or the charge id exists by now. The money has moved anyway, so try again without that write.
    rejected.push(write);
    if (rejected.length > rejectedMax) throw failed;
  }
}

/** Releases the hold that an override took. If this fails, the item's next buyer removes the hold. */
async function releaseHold(context: Pick<PaymentContext, 'engine'>, { item, id }: Payment): Promise<void> {
  if (item?.state === 'made') await context.engine.commit(releaseItem({ ...item, state: 'awaited' }, id));
}

/** Ends a charge whose outcome cannot be determined. Only a later event from the processor can still change it. */
export async function markForReview(
  context: Pick<PaymentContext, 'engine' | 'log' | 'metrics'>,
  id: string,
): Promise<void> {
  const { payment, isChanged } = await changePayment(context, id, (before) => {
    if (hasEnded(before.state)) return undefined;
    const state = transitionCharge(before.state, 'needs_review');
    const reviewed = { ...withoutSecrets(before), state, response: reviewResponse(before) };
    return { payment: reviewed, writes: [removeMarker(openId(id))] };
  });
  if (!isChanged) return;
  const { processor, route, state } = payment;
  context.metrics.charge(processor, route, state);
  context.log.error('charge_needs_review', { payment_id: payment.id, processor });
}

/** Logs and counts the new state of a charge. */
function report(
  { log, metrics }: Pick<PaymentContext, 'log' | 'metrics'>,
  before: ChargeState,
  payment: Payment,
  { outcome, eventId }: ObservedOutcome,
): void {
  const { id: payment_id, processor, route, state } = payment;
  const event = eventId === undefined ? {} : { event_id: eventId };
  const taken = otherAmount(payment, outcome);
  if (taken !== undefined) {
    const detail = otherAmountDetail(payment, taken);
    log.error('charge_of_another_amount', { payment_id, processor, state, detail, ...event });
  }
  if (state === before && state !== 'in_doubt') return;
  // A charge that stays in doubt is counted once.
  if (state !== before) metrics.charge(processor, route, state);
  const detail = 'detail' in outcome ? outcome.detail : undefined;
  log.info('charge', { request_id: payment.requestId, payment_id, processor, state, detail, ...event });
  if (before === 'declined') {
    metrics.chargeOverridden(processor);
    log.error('decline_overridden', { payment_id, processor, state, ...event });
  }
  if (payment.item?.state === 'conflict') log.error('item_not_made', { payment_id });
}
