import { ServiceError } from '../errors.ts';
import type { NextAction, Period } from '../processors/processor.ts';
import type { Delivery } from '../processors/reports.ts';
import type { Write } from '../storage/engine.ts';
import type { Trace } from '../telemetry.ts';
import { adopt } from './adoption/adopt.ts';
import { isDeclinedCard } from './card-testing.ts';
import { requestCharge, settleReply } from './charge/execute.ts';
import { newPayment } from './charge/new-payment.ts';
import { replay } from './charge/replay.ts';
import { checkChargeRequest, type UncheckedChargeRequest } from './charge/request.ts';
import { agreePrice, findEarlier, keyEntryFor, reserve } from './charge/reserve.ts';
import { currentResponse, type PaymentResponse } from './charge/response.ts';
import { findProcessor, type PaymentContext, type PaymentsOptions, paymentContext } from './context.ts';
import {
  findPaymentOn,
  findPrice,
  listPayments,
  type PaymentList,
  type PaymentsPage,
  retrieveByIdempotencyKey,
  retrievePayment,
  type SoughtPrice,
} from './find.ts';
import { checkItemIsFree } from './fulfilment.ts';
import { openId } from './ownership/marker.ts';
import type { Payment, PaymentPlace } from './payment.ts';
import { findRoute } from './payment-routes.ts';
import { findPayment, paymentsSince } from './payment-store.ts';
import type { Price } from './prices.ts';
import { isClientSecret, openNextAction } from './public-payment.ts';
import { Comparison } from './reconcile.ts';
import { type Reconciliation, Reconciliations } from './reconciliations.ts';
import { Recovery } from './recovery.ts';
import { type CreateRefundRequest, refundPayment } from './refund/create.ts';
import type { RefundResponse } from './refund/response.ts';
import { cancelPayment, type Resolution, resolvePayment } from './resolve-payment.ts';
import type { Adoption, AdoptionOptions } from './types.ts';
import { takeEvent } from './webhooks.ts';

export { openOfOtherAccounts } from './accounts.ts';
export { CardTestingLimiter } from './card-testing.ts';
export { chargeErrorFields } from './charge/response.ts';
export type { PaymentsOptions } from './context.ts';
export { paymentMadeAfter, sealedTokens } from './payment-store.ts';
export { PaymentsLock } from './payments-lock.ts';
export { buyersPayment, publicPayment } from './public-payment.ts';
export { publicDifference } from './reconcile.ts';

/**
 * Card payments: charges, refunds, and what the processors report of them. Every method may throw `unavailable` and
 * `storage_full`, as the store does.
 */
export class Payments {
  readonly #context: PaymentContext;
  readonly #recovery: Recovery;
  readonly #reconciliations: Reconciliations;

  constructor(options: PaymentsOptions) {
    this.#context = paymentContext(options);
    this.#recovery = new Recovery(this.#context);
    this.#reconciliations = new Reconciliations(this.#context);
  }

  /** The processors by path segment. Undefined for a known processor whose key is not in the settings. */
  get processors(): PaymentContext['processors'] {
    return this.#context.processors;
  }

  get routes(): PaymentContext['routes'] {
    return this.#context.routes;
  }

  /**
   * Makes a payment. A repeated idempotency key gets the response of the first request. A decline and an unknown
   * outcome are responses too. Recovery finds out unknown outcomes.
   *
   * Throws `processor_not_found`, `processor_not_configured`, `route_not_found`, `invalid_request`, `amount_mismatch`, `forbidden`,
   * `idempotency_key_reused`, `idempotency_key_in_use`, `item_exists`, `reconcile_required`, `processor_error`, and `unavailable`
   * for an invalid price.
   */
  charge(request: UncheckedChargeRequest): Promise<PaymentResponse> {
    const { inFlight, traces, lock } = this.#context;
    const { traceparent } = request;
    const charging = async () => {
      await lock.check();
      return traces.charge({ name: 'charge', traceparent }, (trace) => this.#charge(request, trace));
    };
    return inFlight.add(charging());
  }

  /** The steps: check, replay or agree on the price, reserve, call the processor, settle. No transaction is open during the call. */
  async #charge(unchecked: UncheckedChargeRequest, trace: Trace): Promise<PaymentResponse> {
    const context = this.#context;
    const processor = findProcessor(context, unchecked.processor);
    trace.set({ processor: processor.name });
    const route = findRoute(context, unchecked.route);
    const request = checkChargeRequest(unchecked, route);

    const keyEntry = keyEntryFor(request, processor);
    const earlier = await findEarlier(context, keyEntry);
    if (earlier !== undefined) return replay(context, earlier, request, trace);
    const agreed = await agreePrice(context, route, request, keyEntry, false);
    if (agreed.earlier !== undefined) return replay(context, agreed.earlier, request, trace);

    const { price } = agreed;
    const account = await context.accounts.required(processor);
    await context.lock.checkFor(async () => account);
    const facts = { account, price: price?.source, keyEntry, sold: route.on_success };
    const payment = newPayment(context, request, facts);
    trace.set({ payment_id: payment.id });
    if (payment.item !== undefined) await checkItemIsFree(context, payment.item);

    return context.heartbeats.own(openId(payment.id), async () => {
      const agree = () => agreePrice(context, route, request, keyEntry, true);
      const reserved = await reserve(context, payment, price, agree, trace);
      if (reserved.kind === 'earlier') return replay(context, reserved.payment, request, trace);
      if (reserved.kind === 'uncertain') return currentResponse(context, payment, { replayed: false });

      const observed = await requestCharge(context, payment, request.token, trace);
      const settled = await settleReply(context, payment, observed, trace);
      const response = currentResponse(context, settled, { replayed: false });
      return { ...response, countsAsCardTest: isDeclinedCard(settled, observed.outcome) };
    });
  }

  /**
   * The payment with this id on this route. While it waits for its cardholder, it is first looked up, at most once a
   * second. Throws `processor_not_found`, `processor_not_configured`, `route_not_found`, `payment_not_found`.
   */
  find(place: PaymentPlace): Promise<Payment> {
    return retrievePayment(this.#context, place);
  }

  /** The payment of a request whose response was lost. Like `find`; also throws `invalid_request`. */
  findByKey(sought: { processor: string; route: string; caller: string; key: string }): Promise<Payment> {
    return retrieveByIdempotencyKey(this.#context, sought);
  }

  /** The payment with this id as it is stored, on any route. Throws `payment_not_found`. */
  async stored(id: string): Promise<Payment> {
    const payment = await findPayment(this.#context, id);
    if (payment === undefined) throw new ServiceError('payment_not_found');
    return payment;
  }

  /**
   * Payments of one route, oldest first. A short page may have a next one. Throws as `find` does, and
   * `invalid_request`.
   */
  list(list: PaymentList): Promise<PaymentsPage> {
    return listPayments(this.#context, list);
  }

  /** All payments since a time, in milliseconds since 1970, oldest first. */
  since(time: number): AsyncGenerator<Payment> {
    return paymentsSince(this.#context, time);
  }

  /** The cardholder's next action, with the processor's secret of the attempt; undefined if there is nothing to do. */
  nextAction(payment: Payment): NextAction | undefined {
    return openNextAction(this.#context, payment);
  }

  /** Whether a text is the client secret of the payment at this address. Compares in constant time. */
  isClientSecret(place: PaymentPlace, text: string): Promise<boolean> {
    return isClientSecret(this.#context, place, text);
  }

  /**
   * The current price of a payment. Throws `processor_not_found`, `processor_not_configured`, `route_not_found` (also
   * for a route that sets no price), `invalid_request` if the metadata names no price or quantity, and `unavailable` if
   * the price is invalid.
   */
  price(sought: SoughtPrice): Promise<Price> {
    return findPrice(this.#context, sought);
  }

  /**
   * Refunds a payment, or a part of it. A failure and an unknown outcome are responses too. Throws `processor_not_found`, `processor_not_configured`, `route_not_found`, `payment_not_found`, `invalid_request`,
   * `idempotency_key_reused`, `idempotency_key_in_use`, `reconcile_required`, and `unavailable` if the payment belongs to another
   * processor account.
   */
  refund(request: CreateRefundRequest): Promise<RefundResponse> {
    return this.#context.inFlight.add(refundPayment(this.#context, request));
  }

  /**
   * Cancels a charge whose outcome is unknown, or that waits for its cardholder. No process requests it again. If the
   * processor does not reply, recovery finishes the cancellation.
   *
   * Throws `payment_not_found`, `processor_not_configured`, `unavailable`, and `invalid_request` for a payment that
   * succeeded and so can only be refunded. With a `PaymentPlace`, it also throws the errors of `find`.
   *
   * @param target the address of the payment for callers, or, for an operator, its id
   * @param audit the audit entry to commit with it
   * @returns the payment afterwards: canceled (`declined`), `succeeded` if the charge had been made, or still in doubt.
   *   A payment that was declined or needs review is returned unchanged.
   */
  async cancel(target: PaymentPlace | string, audit?: Write): Promise<Payment> {
    const payment =
      typeof target === 'string' ? await this.stored(target) : await findPaymentOn(this.#context, target);
    return this.#context.inFlight.add(cancelPayment(this.#context, payment, audit));
  }

  /**
   * Ends a charge by an operator's decision, which must agree with the processor's records. Throws `payment_not_found`,
   * `invalid_request` if it does not agree, and `unavailable` if the records cannot be read or belong to another account.
   * @param audit the audit entry to commit with it
   */
  async resolve(id: string, resolution: Resolution, audit: Write): Promise<Payment> {
    return resolvePayment(this.#context, await this.stored(id), resolution, audit);
  }

  /**
   * Handles a webhook request of a processor: settles a charge in doubt, and records refunds and disputes. Events may
   * arrive repeatedly and in any order. Throws `processor_not_found`, `processor_not_configured`, `unauthenticated` if
   * the signature is invalid, and `unavailable` while the event's payment cannot be determined.
   */
  takeEvent(processor: string, delivery: Omit<Delivery, 'receivedAt'>): Promise<void> {
    return takeEvent(this.#context, processor, { ...delivery, receivedAt: this.#context.now() });
  }

  /**
   * Begins to compare our records with those of a processor, within limits. Each processor has one such reconciliation
   * at a time. Throws `processor_not_found`, `processor_not_configured`, `reconciliation_running`, and
   * `invalid_request` for an empty period or one longer than `reconciledPeriodMsMax`.
   */
  reconcile(processor: string, period: Period): Reconciliation {
    return this.#reconciliations.begin(processor, period);
  }

  /** Like `reconcile`, without its limits. */
  compare(processor: string, period: Period): Comparison {
    return new Comparison(this.#context, findProcessor(this.#context, processor), period);
  }

  /**
   * After a restore, adds what the store lacks from the processors' records, and opens payments once all are read. If
   * payments stay shut, the result says why. Safe to repeat, and to run in several processes at once.
   */
  adopt(options: AdoptionOptions): Promise<Adoption> {
    return adopt(this.#context, options);
  }

  /** Resolves charges and refunds that are in doubt or whose process died. @param signal stops new work */
  recover(signal: AbortSignal): Promise<void> {
    return this.#recovery.round(signal);
  }

  /** Ends reconciliations. Resolves when all running charges and refunds have ended, or after the grace period. */
  async stop(): Promise<void> {
    await Promise.all([this.#reconciliations.stop(), this.#context.inFlight.end()]);
  }

  /** Call it last, before the store is closed. */
  close(): Promise<void> {
    return this.#context.heartbeats.close();
  }
}
