import { currencyExponent } from '../../currencies.ts';
import { invalidRequest, ServiceError } from '../../errors.ts';
import { CommitUnknown, type Write } from '../../storage/engine.ts';
import { waitForFirst } from '../charge/replay.ts';
import { checkIdempotencyKey, minorUnits } from '../charge/request.ts';
import { findProcessor, type PaymentContext } from '../context.ts';
import { findPaymentOn } from '../find.ts';
import { refundAttemptsStoredMax, refundsPerPaymentMax } from '../limits.ts';
import { createMarker, openId } from '../ownership/marker.ts';
import { newProcessorKey, newRefundId, type Payment, refundKeyDigest } from '../payment.ts';
import { findRoute, type RoutePolicy } from '../payment-routes.ts';
import { changePayment, findPayment } from '../payment-store.ts';
import type { Refund } from '../refund-state.ts';
import { amountRefundable, findRefund, isCharged, isDisputed, withRefund } from './amounts.ts';
import { executeRefund } from './execute.ts';
import { currentRefundResponse, disputedMessage, type RefundResponse } from './response.ts';

/** A caller's refund request before validation. */
export interface CreateRefundRequest {
  readonly processor: string;
  readonly route: string;
  readonly paymentId: string;
  /** In the unit of the route. Without it, everything that is left is refunded. */
  readonly amount: number | undefined;
  readonly idempotencyKey: string | undefined;
  readonly caller: string;
  readonly requestId: string;
  /**
   * The audit entry of the refund, to commit with its reservation (`audited`).
   *
   * @param refund has its amount in the smallest unit
   */
  readonly audit: (refund: Pick<Refund, 'id' | 'amount'> & Pick<Payment, 'currency'>) => Write;
}

/**
 * Refunds a payment, or a part of it, in the steps of a charge: reserve → call → settle. One record holds all refunds of a
 * payment, so that the reserved amount never exceeds the charge.
 *
 * Throws `processor_not_found`, `processor_not_configured`, `route_not_found`, `payment_not_found`,
 * `invalid_request`, `idempotency_key_reused`, `idempotency_key_in_use`, `reconcile_required`. Everything else is a response.
 */
export async function refundPayment(
  context: PaymentContext,
  request: CreateRefundRequest,
): Promise<RefundResponse> {
  await context.lock.check();
  const policy = findRoute(context, request.route);
  const payment = await findPaymentOn(context, request);
  const processor = findProcessor(context, payment.processor);
  await context.accounts.checkSame(payment, processor);
  await context.lock.checkFor(() => context.accounts.required(processor));
  const key = checkIdempotencyKey(request.idempotencyKey);
  const amount = request.amount === undefined ? undefined : checkAmount(request.amount, payment, policy);
  const refund: Refund = {
    id: newRefundId(context.now()),
    state: 'calling',
    amount: amount ?? 0,
    createdAt: new Date(context.now()).toISOString(),
    requested: {
      processorKey: newProcessorKey(),
      attempts: 0,
      requestId: request.requestId,
      isRest: amount === undefined,
      ...(key === undefined ? {} : { keyDigest: refundKeyDigest(request.caller, key) }),
    },
  };
  return context.heartbeats.own(openId(payment.id, refund.id), async () => {
    const reserving = await reserve(context, payment.id, refund, request.audit).catch((error) => {
      if (error instanceof CommitUnknown) return undefined;
      throw error;
    });
    // The refund may be reserved, and then recovery makes it. So the response must not say that it failed.
    if (reserving === undefined) return currentRefundResponse(refund, { replayed: false });
    const { payment: reserved, earlier } = reserving;
    return earlier === undefined
      ? executeRefund(context, reserved, refund.id)
      : replay(context, payment.id, earlier, refund);
  });
}

function checkAmount(amount: number, { currency }: Payment, { unit }: RoutePolicy): number {
  const minor = unit === 'minor' ? amount : minorUnits(amount, currencyExponent(currency) ?? 0);
  if (Number.isInteger(minor) && minor >= 1) return minor;
  throw invalidRequest(
    'amount',
    unit === 'minor'
      ? 'amount must be a whole number of the smallest unit of the currency, 1 or more.'
      : `amount must be above 0, with at most ${currencyExponent(currency)} decimal places, as ${currency} has.`,
  );
}

/** One commit stores the refund in its payment's record, and creates its marker and its audit entry. */
async function reserve(
  context: Pick<PaymentContext, 'engine' | 'heartbeats'>,
  paymentId: string,
  refund: Refund,
  audit: CreateRefundRequest['audit'],
): Promise<{ readonly payment: Payment; readonly earlier: Refund | undefined }> {
  const { payment, isChanged } = await changePayment(context, paymentId, (before) => {
    if (withSameKey(before, refund) !== undefined) return undefined;
    const amount = refund.requested?.isRest ? amountRefundable(before) : refund.amount;
    checkRefundable(before, amount);
    const { processor, currency } = before;
    return {
      payment: withRefund(withoutOldAttempts(before), { ...refund, amount }),
      writes: [
        createMarker(context, openId(paymentId, refund.id), processor),
        audit({ id: refund.id, amount, currency }),
      ],
    };
  });
  return { payment, earlier: isChanged ? undefined : withSameKey(payment, refund) };
}

/** Refunds that moved no money stay stored for diagnosis; the oldest are dropped. */
function withoutOldAttempts(payment: Payment): Payment {
  const { refunds = [] } = payment;
  const moved = ({ state, processorRefundId }: Refund) =>
    state !== 'failed' || processorRefundId !== undefined;
  const old = new Set(refunds.filter((refund) => !moved(refund)).slice(0, -refundAttemptsStoredMax));
  return old.size === 0 ? payment : { ...payment, refunds: refunds.filter((each) => !old.has(each)) };
}

function withSameKey({ refunds = [] }: Payment, { requested }: Refund): Refund | undefined {
  if (requested?.keyDigest === undefined) return undefined;
  return refunds.find((refund) => refund.requested?.keyDigest === requested.keyDigest);
}

function checkRefundable(payment: Payment, amount: number): void {
  if (!isCharged(payment)) {
    const isOpen = payment.state !== 'declined';
    throw invalidRequest(
      undefined,
      isOpen
        ? 'It is not known yet whether this payment has succeeded; nothing was refunded.'
        : 'This payment was declined: there is nothing to refund.',
    );
  }
  if (isDisputed(payment)) throw invalidRequest(undefined, disputedMessage);
  const rest = amountRefundable(payment);
  if (rest === 0) throw invalidRequest('amount', 'This payment has been refunded already.');
  if (amount > rest) {
    throw invalidRequest(
      'amount',
      `At most ${rest}, in the smallest unit of the currency, can still be refunded; nothing was refunded.`,
    );
  }
  // A refund that failed or was not attempted moved no money.
  const counted = (payment.refunds ?? []).filter(({ state }) => state !== 'failed');
  if (counted.length >= refundsPerPaymentMax) {
    throw invalidRequest(
      undefined,
      `A payment can have at most ${refundsPerPaymentMax} refunds; nothing was refunded.`,
    );
  }
}

/** Returns the first request's response to a repeated request; waits while the first is running. */
async function replay(
  context: Pick<PaymentContext, 'engine'>,
  paymentId: string,
  earlier: Refund,
  { requested, amount }: Refund,
): Promise<RefundResponse> {
  const isSame =
    earlier.requested?.isRest === requested?.isRest && (requested?.isRest || earlier.amount === amount);
  if (!isSame) {
    throw new ServiceError('idempotency_key_reused', {
      param: 'amount',
      message: 'This idempotency key was used before with another amount; nothing was refunded.',
    });
  }
  return waitForFirst(async () => {
    const payment = await findPayment(context, paymentId);
    const refund = payment && findRefund(payment, earlier.id);
    return refund === undefined || refund.state === 'calling'
      ? undefined
      : currentRefundResponse(refund, { replayed: true });
  });
}
