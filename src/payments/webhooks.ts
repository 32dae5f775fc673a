import { ServiceError } from '../errors.ts';
import type { EventOutcome } from '../metrics.ts';
import type {
  ChargeChange,
  Delivery,
  DisputeChange,
  Processor,
  ProcessorEvent,
  RefundChange,
  RefundOutcome,
} from '../processors/processor.ts';
import { settleCharge, withEvent } from './charge/settle.ts';
import { findProcessor, type PaymentContext } from './context.ts';
import { lookUpMsMax } from './limits.ts';
import { openSpace } from './ownership/marker.ts';
import type { Dispute, Payment } from './payment.ts';
import { changePayment, findPayment, findPaymentByCharge } from './payment-store.ts';
import { findRefund, withRefund } from './refund/amounts.ts';
import { settleRefund } from './refund/settle.ts';
import type { Refund } from './refund-state.ts';

/**
 * Takes an event that a processor has sent (a webhook): it settles what is in doubt, and records refunds and disputes,
 * wherever they were made. Events come more than once and in any order: nothing that is known becomes unknown again,
 * and of two words on one dispute the later one stays.
 *
 * Refuses with `processor_not_found`, `processor_not_configured` and, where the signature is not the processor's,
 * `unauthenticated`; with `unavailable` where it cannot be told yet whose event it is.
 */
export async function takeEvent(
  context: PaymentContext,
  processorName: string,
  delivery: Delivery,
): Promise<void> {
  const processor = findProcessor(context, processorName);
  // Until all of it is on disk; the processor sends it again.
  let outcome: EventOutcome = 'not_yet';
  const told = (known: EventOutcome) => {
    outcome = known;
  };
  try {
    await takeFrom(context, processor, delivery, told);
  } finally {
    context.metrics.event(processor.name, outcome);
  }
}

async function takeFrom(
  context: PaymentContext,
  processor: Processor,
  delivery: Delivery,
  told: (outcome: EventOutcome) => void,
): Promise<void> {
  const reading = await processor.readEvent(delivery);
  if (reading.kind !== 'event') told(reading.kind);
  if (reading.kind === 'not_configured') {
    throw new ServiceError('processor_not_configured', {
      message: 'This service has no secret to check the signatures of this processor with.',
    });
  }
  if (reading.kind === 'forged') {
    throw new ServiceError('unauthenticated', {
      message: 'This is not signed by the payment processor, or was signed too long ago.',
      detail: reading.detail,
    });
  }
  if (reading.kind === 'irrelevant') return;
  const { event } = reading;
  const payment = await paymentOf(context, processor, event);
  // Others may use the same account of the processor.
  if (payment === undefined) return told('irrelevant');
  if (payment.events?.includes(event.id)) return told('repeated');
  await apply(context, payment, event);
  told('taken');
  const { id: event_id } = event;
  context.log.info('event', {
    event_id,
    payment_id: payment.id,
    processor: processor.name,
    detail: event.news.about,
  });
}

async function paymentOf(
  context: PaymentContext,
  processor: Processor,
  { news }: ProcessorEvent,
): Promise<Payment | undefined> {
  if (news.about === 'charge') return paymentOn(context, processor, news.paymentId);
  const known = await findPaymentByCharge(context, processor.name, news.chargeId);
  return known ?? paymentInDoubtOf(context, processor, news.chargeId);
}

/** News may be faster than what settles the charge that they are about: then its id is not known here yet. */
async function paymentInDoubtOf(
  context: PaymentContext,
  processor: Processor,
  chargeId: string,
): Promise<Payment | undefined> {
  const open = await context.engine.scan(openSpace, { limit: 1 });
  if ((await Array.fromAsync(open?.chunks ?? [])).length === 0) return undefined;
  const owner = await processor.findOwner(chargeId, lookUpMsMax);
  if (owner.kind === 'owner') return paymentOn(context, processor, owner.paymentId);
  // The processor sends again what is not taken.
  throw new ServiceError('unavailable', { retryAfterSeconds: 60, detail: owner.detail });
}

async function paymentOn(
  context: PaymentContext,
  processor: Processor,
  paymentId: string | undefined,
): Promise<Payment | undefined> {
  const payment = paymentId === undefined ? undefined : await findPayment(context, paymentId);
  return payment?.processor === processor.name ? payment : undefined;
}

async function apply(context: PaymentContext, payment: Payment, event: ProcessorEvent): Promise<void> {
  const { news } = event;
  if (news.about === 'charge') await applyCharge(context, payment, event.id, news);
  else if (news.about === 'refund') await applyRefund(context, payment, event.id, news);
  else await applyDispute(context, payment, event, news);
}

async function applyCharge(
  context: PaymentContext,
  { id }: Payment,
  eventId: string,
  { outcome }: ChargeChange,
): Promise<void> {
  const payment = await settleCharge(context, id, { outcome, eventId, basis: 'proof' });
  if (outcome.kind !== 'succeeded' || payment.chargeId === outcome.chargeId) return;
  context.log.error('second_charge', { payment_id: id, processor: payment.processor, event_id: eventId });
}

async function applyRefund(
  context: PaymentContext,
  payment: Payment,
  eventId: string,
  news: RefundChange,
): Promise<void> {
  const { processorRefundId, state } = news;
  const known = refundOf(payment, news);
  if (known === undefined) return noteRefund(context, payment.id, eventId, news);
  const outcome: RefundOutcome = { kind: state, processorRefundId };
  await settleRefund(context, payment.id, known.id, { outcome, eventId, basis: 'proof' });
}

function refundOf(payment: Payment, { refundId, processorRefundId }: RefundChange): Refund | undefined {
  const asked = refundId === undefined ? undefined : findRefund(payment, refundId);
  return asked ?? payment.refunds?.find((refund) => refund.processorRefundId === processorRefundId);
}

/** One that was made elsewhere. */
async function noteRefund(
  context: PaymentContext,
  paymentId: string,
  eventId: string,
  news: RefundChange,
): Promise<void> {
  const { processorRefundId, state, amount } = news;
  const createdAt = new Date(context.now()).toISOString();
  const { payment } = await changePayment(context, paymentId, (before) => {
    if (refundOf(before, news) !== undefined) return undefined;
    const refund: Refund = { id: processorRefundId, state, amount, createdAt, processorRefundId };
    return { payment: { ...withRefund(before, refund), events: withEvent(before, eventId) } };
  });
  // Another event of the same refund may have been faster, and have said less.
  if (!payment.events?.includes(eventId)) await applyRefund(context, payment, eventId, news);
}

async function applyDispute(
  context: PaymentContext,
  { id }: Payment,
  event: ProcessorEvent,
  { disputeId, amount, status, reason }: DisputeChange,
): Promise<void> {
  const dispute: Dispute = { id: disputeId, amount, status, reason, toldAt: event.happenedAt };
  const { isChanged } = await changePayment(context, id, (before) => {
    const others = before.disputes?.filter((each) => each.id !== disputeId) ?? [];
    const earlier = before.disputes?.find((each) => each.id === disputeId);
    if (earlier !== undefined && earlier.toldAt > dispute.toldAt) return undefined;
    return {
      payment: { ...before, disputes: [...others, dispute], events: withEvent(before, event.id) },
    };
  });
  if (isChanged) context.log.warn('dispute', { payment_id: id, state: status });
}
