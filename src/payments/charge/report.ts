import type { Money } from '../../processors/event.ts';
import type { ChargeState } from '../charge-state.ts';
import type { PaymentContext } from '../context.ts';
import type { Payment } from '../payment.ts';
import { otherAmountDetail } from './other-amount.ts';
import type { Finding } from './outcome.ts';

/** Logs and counts the new state of a charge. @param before its previous state */
export function report(
  context: Pick<PaymentContext, 'log' | 'metrics'>,
  payment: Payment,
  { outcome, eventId }: Finding,
  before: ChargeState | undefined,
): void {
  const { id: payment_id, processor, route, state } = payment;
  const event = eventId === undefined ? {} : { event_id: eventId };
  // Count a charge that stays in doubt once.
  if (state !== 'in_doubt' || before !== 'in_doubt') context.metrics.charge(processor, route, state);
  const detail = 'detail' in outcome ? outcome.detail : undefined;
  context.log.info('charge', {
    request_id: payment.requestId,
    payment_id,
    processor,
    state,
    detail,
    ...event,
  });
  if (before === 'declined') {
    context.metrics.chargeOverridden(processor);
    context.log.error('decline_overridden', { payment_id, processor, state, ...event });
  }
  if (payment.item?.state === 'conflict') context.log.error('item_not_made', { payment_id });
}

/** Logs that the processor reports another amount than that of the payment. */
export function reportOtherAmount(
  { log }: Pick<PaymentContext, 'log'>,
  payment: Payment,
  { eventId }: Finding,
  taken: Money,
): void {
  log.error('charge_of_another_amount', {
    payment_id: payment.id,
    processor: payment.processor,
    state: payment.state,
    detail: otherAmountDetail(payment, taken),
    ...(eventId === undefined ? {} : { event_id: eventId }),
  });
}
