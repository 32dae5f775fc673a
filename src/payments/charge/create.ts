import type { Processor } from '../../processors/processor.ts';
import { CommitUnknown, type Write } from '../../storage/engine.ts';
import type { Trace } from '../../tracing.ts';
import { accountOf } from '../charge-account.ts';
import { findProcessor, type PaymentContext } from '../context.ts';
import { awaitedItem, checkItemIsFree, isItemReservation, releaseItem, reserveItem } from '../fulfilment.ts';
import { createMarker, openId, removeMarker } from '../ownership/marker.ts';
import {
  callerKeyEntry,
  newPaymentId,
  type PaidItem,
  type Payment,
  paymentKeysSpace,
  paymentsSpace,
  tokenKeyEntry,
} from '../payment.ts';
import { findRoute } from '../payment-routes.ts';
import { created, findPaymentByKey, textOf } from '../payment-store.ts';
import { type Agreement, agreePrice } from './agree-price.ts';
import { storedDetails } from './details.ts';
import { executeCharge } from './execute.ts';
import { itemIsHeld } from './held-item.ts';
import { newPayment } from './new-payment.ts';
import { replay } from './replay.ts';
import { type CheckedChargeRequest, checkChargeRequest, type UncheckedChargeRequest } from './request.ts';
import { currentResponse, type PaymentResponse } from './response.ts';

/**
 * Makes a payment: reserve → call → settle. The reservation is on disk before the processor is called, and the outcome
 * before the caller gets a response. No transaction is open during the call.
 *
 * Throws `processor_not_found`, `processor_not_configured`, `route_not_found`, `invalid_request`,
 * `amount_mismatch`, `forbidden`, `idempotency_key_reused`, `idempotency_key_in_use`, `item_exists`, `reconcile_required`, and `unavailable` for
 * an invalid price. Everything else is a response.
 */
export async function createCharge(
  context: PaymentContext,
  request: UncheckedChargeRequest,
): Promise<PaymentResponse> {
  const { traceparent } = request;
  await context.lock.check();
  return context.traces.charge({ name: 'charge', traceparent }, (trace) =>
    chargeOrReplay(context, request, trace),
  );
}

async function chargeOrReplay(
  context: PaymentContext,
  request: UncheckedChargeRequest,
  trace: Trace,
): Promise<PaymentResponse> {
  const processor = findProcessor(context, request.processor);
  trace.set({ processor: processor.name });
  const policy = findRoute(context, request.route);
  const checked = checkChargeRequest(request, policy);
  const keyEntry = keyEntryOf(request, checked, processor);
  const earlier = keyEntry === undefined ? undefined : await findEarlier(context, keyEntry);
  if (earlier !== undefined) return replay(context, earlier, checked, trace);

  const agree = (isChanged: boolean) => agreePrice(context, policy, checked, keyEntry, isChanged);
  const agreed = await agree(false);
  if (agreed.earlier !== undefined) return replay(context, agreed.earlier, checked, trace);
  const { price } = agreed;
  const id = newPaymentId(context.now());
  trace.set({ payment_id: id });
  const details = storedDetails(context, id, checked, checked.metadata);
  const account = await context.accounts.required(processor);
  await context.lock.checkFor(async () => account);
  const item = policy.on_success && awaitedItem(policy.on_success, id, checked.metadata);
  if (item !== undefined) await checkItemIsFree(context, item);
  const facts = { id, account, price: price?.source, details, keyEntry, item };
  const payment = newPayment(context, request, checked, facts);
  return context.heartbeats.own(openId(id), async () => {
    const first = await trace
      .step('reserve', () => reserve(context, payment, price?.checks ?? [], agree))
      .catch((error) => {
        if (error instanceof CommitUnknown) return payment;
        throw error;
      });
    // The payment may be reserved, and then recovery charges it: the response must not say that it failed.
    if (first === payment) return currentResponse(context, payment, { replayed: false });
    if (first !== undefined) return replay(context, first, checked, trace);
    context.metrics.charge(payment.processor, payment.route, 'received');
    if (item !== undefined && !(await isStillFree(context, payment, item)))
      return currentResponse(context, payment, { replayed: false });
    return executeCharge(context, payment, checked.token, trace);
  });
}

async function findEarlier(
  context: Pick<PaymentContext, 'engine' | 'replayCache'>,
  keyEntry: string,
): Promise<Payment | undefined> {
  const final = context.replayCache.get(keyEntry);
  if (final !== undefined) return final;
  const earlier = await findPaymentByKey(context, keyEntry);
  if (earlier !== undefined) context.replayCache.note(keyEntry, earlier);
  return earlier;
}

function keyEntryOf(
  request: UncheckedChargeRequest,
  { idempotencyKey, token }: CheckedChargeRequest,
  processor: Processor,
): string | undefined {
  if (idempotencyKey !== undefined) {
    return callerKeyEntry(request.caller, request.processor, request.route, idempotencyKey);
  }
  return processor.isSingleUse(token) ? tokenKeyEntry(request.processor, token) : undefined;
}

/**
 * @param priceChecks the reservation fails if the price has changed; then `agree` compares the new one
 * @returns the payment that already has the key, or undefined if this one is reserved. Throws `item_exists`, and the errors
 *   of `agree`
 */
async function reserve(
  context: Pick<PaymentContext, 'engine' | 'heartbeats' | 'accounts' | 'processors' | 'now'>,
  payment: Payment,
  priceChecks: readonly Write[],
  agree: (isChanged: boolean) => Promise<Agreement>,
): Promise<Payment | undefined> {
  const { id, keyEntry, item } = payment;
  const reservation: Write[] = [
    ...(keyEntry === undefined ? [] : [created(paymentKeysSpace, keyEntry, id)]),
    ...(item === undefined ? [] : reserveItem(item, id)),
    created(paymentsSpace, id, textOf(payment)),
    createMarker(context, openId(id), payment.processor),
    ...(await context.accounts.noting(accountOf(payment))),
  ];
  for (let checks = priceChecks; ; ) {
    const writes = [...reservation, ...checks];
    const failure = await context.engine.commit(writes);
    if (failure === undefined) return undefined;
    const failed = writes[failure.write] as Write;
    if (failed.kind === 'check') {
      const { earlier, price } = await agree(true);
      if (earlier !== undefined) return earlier;
      // It has changed back, or its text has: the amount is the same.
      checks = price?.checks ?? [];
      continue;
    }
    if (isItemReservation(failed)) {
      const held = await itemIsHeld(context, failed);
      if (held !== undefined) throw held;
      continue;
    }
    if (failed.space !== paymentKeysSpace) throw new Error(`payment id ${id} was given out twice`);
    const earlier = await findPaymentByKey(context, failed.id);
    // The earlier payment may have released the key meanwhile: then try again.
    if (earlier !== undefined) return earlier;
  }
}

/**
 * The previous holder may have created the item. Then this deletes the payment, because the processor was not called, and
 * throws `item_exists`. @returns false if deleting failed: then recovery may still charge it
 */
async function isStillFree(
  context: Pick<PaymentContext, 'engine' | 'itemWrite'>,
  payment: Payment,
  item: PaidItem,
): Promise<boolean> {
  try {
    await checkItemIsFree(context, item);
    return true;
  } catch (error) {
    const { id, keyEntry } = payment;
    const key = { kind: 'delete', space: paymentKeysSpace, id: keyEntry ?? '' } as const;
    const deleting = context.engine.commit([
      { kind: 'delete', space: paymentsSpace, id },
      removeMarker(openId(id)),
      ...releaseItem(item, id),
      ...(keyEntry === undefined ? [] : [key]),
    ]);
    const isDeleted = await deleting.then(
      (failure) => failure === undefined,
      () => false,
    );
    if (!isDeleted) return false;
    throw error;
  }
}
