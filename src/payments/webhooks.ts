import { ServiceError } from '../errors.ts';
import type { ConnectedProcessor, RefundOutcome } from '../processors/processor.ts';
import type {
  ChargeChange,
  Delivery,
  DisputeChange,
  ParsedEvent,
  ProcessorEvent,
  RefundChange,
} from '../processors/reports.ts';
import type { EventOutcome } from '../telemetry.ts';
import { resolveAuthentication } from './charge/authenticate.ts';
import { closeDecline } from './charge/look-up.ts';
import type { Outcome } from './charge/outcome.ts';
import { settleCharge } from './charge/settle.ts';
import { withEvent } from './charge/settlement.ts';
import { isFinal } from './charge-state.ts';
import { findProcessor, type PaymentContext, type SettleRefundContext } from './context.ts';
import { changeRevokingItem } from './item-revocation.ts';
import { lookUpMsMax } from './limits.ts';
import { openSpace } from './ownership/marker.ts';
import type { Dispute, Payment } from './payment.ts';
import { findPayment, findPaymentByCharge } from './payment-store.ts';
import { findRefund, withRefund } from './refund/amounts.ts';
import { settleRefund } from './refund/settle.ts';
import type { Refund } from './refund-state.ts';

/**
 * Handles a processor's webhook event. It settles a charge in doubt. It records refunds and disputes, also those made
 * at the processor, and deletes the items that they revoke. Events may arrive repeatedly and in any order: a known
 * outcome never becomes unknown again, and the later of two states of a dispute stays.
 *
 * Throws `processor_not_found`, `processor_not_configured`, `unauthenticated` if the signature is invalid, and
 * `unavailable` while the event's payment cannot be determined.
 */
export async function takeEvent(
  context: PaymentContext,
  processorName: string,
  delivery: Delivery,
): Promise<void> {
  const processor = findProcessor(context, processorName);
  // Until all of the event is on disk, it counts as `not_yet`, because the processor will send it again.
  let counted: EventOutcome = 'not_yet';
  try {
    const parsed = await processor.readEvent(delivery);
    if (parsed.kind === 'event') counted = await handle(context, processor, parsed.event);
    else {
      counted = parsed.kind;
      checkSigned(parsed);
    }
  } finally {
    context.metrics.event(processor.name, counted);
  }
}

function checkSigned(parsed: Exclude<ParsedEvent, { kind: 'event' }>): void {
  if (parsed.kind === 'not_configured') {
    throw new ServiceError('processor_not_configured', {
      message: 'No webhook secret is configured for this payment processor.',
    });
  }
  if (parsed.kind === 'invalid_signature') {
    throw new ServiceError('unauthenticated', {
      message: 'The signature of the payment processor is missing, invalid or too old.',
      detail: parsed.detail,
    });
  }
}

/** @returns what became of the event, once its content is on disk */
async function handle(
  context: PaymentContext,
  processor: ConnectedProcessor,
  event: ProcessorEvent,
): Promise<EventOutcome> {
  const payment = await findEventPayment(context, processor, event);
  // Other systems may use the same processor account.
  if (payment === undefined) return 'irrelevant';
  if (payment.events?.includes(event.id)) return 'repeated';
  await apply(context, payment, event);
  const { id: event_id, change } = event;
  const { id: payment_id } = payment;
  context.log.info('event', { event_id, payment_id, processor: processor.name, detail: change.about });
  return 'taken';
}

async function findEventPayment(
  context: Pick<PaymentContext, 'engine'>,
  processor: ConnectedProcessor,
  { change }: ProcessorEvent,
): Promise<Payment | undefined> {
  if (change.about === 'charge') return paymentOn(context, processor, change.paymentId);
  const known = await findPaymentByCharge(context, processor.name, change.chargeId);
  return known ?? findPaymentInDoubt(context, processor, change.chargeId);
}

/** Finds the payment of an event that arrives before its charge is settled, when the charge id is not stored yet. */
async function findPaymentInDoubt(
  context: Pick<PaymentContext, 'engine'>,
  processor: ConnectedProcessor,
  chargeId: string,
): Promise<Payment | undefined> {
  const open = await context.engine.scan(openSpace, { limit: 1 });
  if ((await Array.fromAsync(open?.chunks ?? [])).length === 0) return undefined;
  const owner = await processor.findOwner(chargeId, lookUpMsMax);
  if (owner.kind === 'owner') return paymentOn(context, processor, owner.paymentId);
  // The processor sends the event again after an error.
  throw new ServiceError('unavailable', { retryAfterSeconds: 60, detail: owner.detail });
}

async function paymentOn(
  context: Pick<PaymentContext, 'engine'>,
  processor: ConnectedProcessor,
  paymentId: string | undefined,
): Promise<Payment | undefined> {
  const payment = paymentId === undefined ? undefined : await findPayment(context, paymentId);
  return payment?.processor === processor.name ? payment : undefined;
}

async function apply(context: PaymentContext, payment: Payment, event: ProcessorEvent): Promise<void> {
  const { change } = event;
  if (change.about === 'charge') await applyCharge(context, payment, event.id, change);
  else if (change.about === 'refund') await applyRefund(context, payment, event.id, change);
  else await applyDispute(context, payment, event, change);
}

async function applyCharge(
  context: PaymentContext,
  before: Payment,
  eventId: string,
  { outcome }: ChargeChange,
): Promise<void> {
  const { id } = before;
  // The cardholder may still pay with another card. So the attempt is looked up and canceled before the charge is
  // declined.
  const isOpen = before.state === 'requires_action' && outcome.kind === 'declined';
  const payment = isOpen
    ? await resolveAuthentication(context, before, eventId)
    : await settleCharge(context, id, {
        outcome: await closed(context, before, outcome),
        eventId,
        basis: 'proof',
      });
  if (outcome.kind !== 'succeeded' || payment.chargeId === outcome.chargeId) return;
  context.log.error('second_charge', { payment_id: id, processor: payment.processor, event_id: eventId });
}

/**
 * Cancels the open attempt of a decline.
 *
 * @returns the outcome afterwards. Throws `unavailable` if the attempt cannot be canceled now.
 */
async function closed(
  context: PaymentContext,
  before: Payment,
  outcome: ChargeChange['outcome'],
): Promise<Outcome> {
  if (isFinal(before.state)) return outcome;
  const ended = await closeDecline(context, findProcessor(context, before.processor), before, outcome);
  // The processor sends the event again after an error, and recovery looks the charge up meanwhile.
  if (ended.kind === 'unknown')
    throw new ServiceError('unavailable', { retryAfterSeconds: 60, detail: ended.detail });
  return ended;
}

async function applyRefund(
  context: SettleRefundContext,
  payment: Payment,
  eventId: string,
  change: RefundChange,
): Promise<void> {
  const { processorRefundId, state } = change;
  const known = findReported(payment, change);
  if (known === undefined) return noteRefund(context, payment.id, eventId, change);
  const outcome: RefundOutcome = { kind: state, processorRefundId };
  await settleRefund(context, payment.id, known.id, { outcome, eventId, basis: 'proof' });
}

function findReported(payment: Payment, { refundId, processorRefundId }: RefundChange): Refund | undefined {
  const ours = refundId === undefined ? undefined : findRefund(payment, refundId);
  return ours ?? payment.refunds?.find((refund) => refund.processorRefundId === processorRefundId);
}

/** Records a refund that another system made. */
async function noteRefund(
  context: SettleRefundContext,
  paymentId: string,
  eventId: string,
  change: RefundChange,
): Promise<void> {
  const { processorRefundId, state, amount } = change;
  const createdAt = new Date(context.now()).toISOString();
  const { payment } = await changeRevokingItem(context, paymentId, (before) => {
    if (findReported(before, change) !== undefined) return undefined;
    const refund: Refund = { id: processorRefundId, state, amount, createdAt, processorRefundId };
    return { payment: { ...withRefund(before, refund), events: withEvent(before, eventId) } };
  });
  // An earlier state of the same refund may have been recorded meanwhile.
  if (!payment.events?.includes(eventId)) await applyRefund(context, payment, eventId, change);
}

async function applyDispute(
  context: SettleRefundContext,
  { id }: Payment,
  event: ProcessorEvent,
  { disputeId, amount, status, reason, isWithdrawn }: DisputeChange,
): Promise<void> {
  const dispute: Dispute = {
    id: disputeId,
    amount,
    status,
    reason,
    isWithdrawn,
    reportedAt: event.happenedAt,
  };
  const { isChanged } = await changeRevokingItem(context, id, (before) => {
    const others = before.disputes?.filter((each) => each.id !== disputeId) ?? [];
    const earlier = before.disputes?.find((each) => each.id === disputeId);
    if (earlier !== undefined && earlier.reportedAt > dispute.reportedAt) return undefined;
    return {
      payment: { ...before, disputes: [...others, dispute], events: withEvent(before, event.id) },
    };
  });
  if (isChanged) context.log.warn('dispute', { payment_id: id, state: status });
}
