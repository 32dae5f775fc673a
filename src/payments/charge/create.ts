import { ServiceError } from '../../errors.ts';
import type { Processor } from '../../processors/processor.ts';
import { CommitUnknown, type Write } from '../../storage/engine.ts';
import type { Trace } from '../../tracing.ts';
import { moveCharge } from '../charge-state.ts';
import { findProcessor, type PaymentParts } from '../context.ts';
import { awaitedItem, checkItemIsFree, isKeeping, itemIsHeld, keptFor, letGo } from '../fulfilment.ts';
import { wantedStepMs } from '../limits.ts';
import { closed, opened, openId } from '../ownership/marker.ts';
import {
  callerKeyEntry,
  newPaymentId,
  newProcessorKey,
  type PaidItem,
  type Payment,
  paymentKeysSpace,
  paymentsSpace,
  tokenDigest,
  tokenKeyEntry,
  tokenPlace,
} from '../payment.ts';
import { findRoute } from '../payment-routes.ts';
import { changePayment, findPayment, findPaymentByKey, textOf } from '../payment-store.ts';
import { driveCharge, isWanted } from './execute.ts';
import { checkOrder, differingField, type Order, type PaymentRequest } from './request.ts';
import { answerNow, type PaymentAnswer } from './response.ts';
import { waitForFirst } from './wait-for-first.ts';

/**
 * Takes a payment: reserve → ask → settle. The reservation is on disk before the processor is asked, and the
 * outcome before the caller is answered; no transaction is open during the call.
 *
 * Refuses with `processor_not_found`, `processor_not_configured`, `route_not_found`, `invalid_request`,
 * `idempotency_key_reused`, `idempotency_key_in_use`, `item_exists`. Everything else is an answer.
 */
export async function takePayment(parts: PaymentParts, request: PaymentRequest): Promise<PaymentAnswer> {
  const { traceparent } = request;
  return parts.traces.charge({ name: 'charge', traceparent }, (trace) => take(parts, request, trace));
}

async function take(parts: PaymentParts, request: PaymentRequest, trace: Trace): Promise<PaymentAnswer> {
  const processor = findProcessor(parts, request.processor);
  trace.tell({ processor: processor.name });
  const policy = findRoute(parts, request.route);
  const order = checkOrder(request, policy);
  const keyEntry = keyEntryOf(request, order, processor);
  const earlier = keyEntry === undefined ? undefined : await findEarlier(parts, keyEntry);
  if (earlier !== undefined) return replay(parts, earlier, order, trace);

  const id = newPaymentId(parts.now());
  trace.tell({ payment_id: id });
  const account = await parts.accounts.required(processor);
  const item = policy.on_success && awaitedItem(policy.on_success, id, order.metadata);
  if (item !== undefined) await checkItemIsFree(parts, item);
  const payment: Payment = {
    id,
    state: moveCharge('received', 'calling'),
    processor: request.processor,
    ...(account === undefined ? {} : { account }),
    route: request.route,
    amount: order.amount,
    currency: order.currency,
    ...(order.metadata === undefined ? {} : { metadata: order.metadata }),
    tokenDigest: tokenDigest(id, order.token),
    processorKey: newProcessorKey(),
    attempts: 0,
    ...(keyEntry === undefined ? {} : { keyEntry }),
    requestId: request.requestId,
    createdAt: new Date(parts.now()).toISOString(),
    wantedUntil: parts.now() + parts.wantedMs,
    sealedToken: parts.sealer.seal(order.token, tokenPlace(id)),
    ...(item === undefined ? {} : { item }),
  };
  return parts.drivers.drive(openId(id), async () => {
    const faster = await trace
      .step('reserve', () => reserve(parts, payment))
      .catch((error) => {
        if (error instanceof CommitUnknown) return payment;
        throw error;
      });
    // It may be reserved, and recovery then charges it: nobody may be told that it was not taken.
    if (faster === payment) return answerNow(payment, { replayed: false });
    if (faster !== undefined) return replay(parts, faster, order, trace);
    parts.metrics.charge(payment.processor, payment.route, 'received');
    if (item !== undefined && !(await isStillFree(parts, payment, item)))
      return answerNow(payment, { replayed: false });
    return driveCharge(parts, payment, order.token, trace);
  });
}

async function findEarlier(parts: PaymentParts, keyEntry: string): Promise<Payment | undefined> {
  const final = parts.finals.get(keyEntry);
  if (final !== undefined) return final;
  const earlier = await findPaymentByKey(parts, keyEntry);
  if (earlier !== undefined) parts.finals.note(keyEntry, earlier);
  return earlier;
}

function keyEntryOf(request: PaymentRequest, order: Order, processor: Processor): string | undefined {
  if (order.idempotencyKey !== undefined) {
    return callerKeyEntry(request.caller, request.processor, request.route, order.idempotencyKey);
  }
  return processor.isSingleUse(order.token) ? tokenKeyEntry(request.processor, order.token) : undefined;
}

/** @returns the payment that already has the key, or undefined when this one is reserved. Refuses with `item_exists` */
async function reserve(parts: PaymentParts, payment: Payment): Promise<Payment | undefined> {
  const { id, keyEntry, item } = payment;
  const writes: Write[] = [
    ...(keyEntry === undefined ? [] : [created(paymentKeysSpace, keyEntry, id)]),
    ...(item === undefined ? [] : keptFor(item, id)),
    created(paymentsSpace, id, textOf(payment)),
    opened(parts, openId(id), payment.processor),
  ];
  for (;;) {
    const refusal = await parts.engine.commit(writes);
    if (refusal === undefined) return undefined;
    const refused = writes[refusal.write] as Write;
    if (isKeeping(refused)) {
      const held = await itemIsHeld(parts, refused);
      if (held !== undefined) throw held;
      continue;
    }
    if (refused.space !== paymentKeysSpace) throw new Error(`payment id ${id} was given out twice`);
    const earlier = await findPaymentByKey(parts, refused.id);
    // Between the two, the earlier payment may have let go of the key: then it is free to be taken.
    if (earlier !== undefined) return earlier;
  }
}

/**
 * The previous holder may have created the item. Then this payment is taken back, for nobody was asked, and
 * the refusal thrown. @returns false when it could not be taken back: then recovery may still charge it
 */
async function isStillFree(parts: PaymentParts, payment: Payment, item: PaidItem): Promise<boolean> {
  try {
    await checkItemIsFree(parts, item);
    return true;
  } catch (error) {
    const { id, keyEntry } = payment;
    const key = { kind: 'delete', space: paymentKeysSpace, id: keyEntry ?? '' } as const;
    const takingBack = parts.engine.commit([
      { kind: 'delete', space: paymentsSpace, id },
      closed(openId(id)),
      ...letGo(item, id),
      ...(keyEntry === undefined ? [] : [key]),
    ]);
    const isTakenBack = await takingBack.then(
      (refusal) => refusal === undefined,
      () => false,
    );
    if (!isTakenBack) return false;
    throw error;
  }
}

function created(space: Write['space'], id: string, value: string): Write {
  return { kind: 'create', space, id, value, makeSpace: true };
}

/** Answers a repeated request as the first one was answered, waiting for it where it is still running. */
async function replay(
  parts: PaymentParts,
  earlier: Payment,
  order: Order,
  trace: Trace,
): Promise<PaymentAnswer> {
  trace.tell({ payment_id: earlier.id, outcome: 'replayed' });
  const field = differingField(earlier, order);
  if (field !== undefined) {
    throw new ServiceError('idempotency_key_reused', {
      param: field,
      message: `This idempotency key was used before with another ${field}; nothing was charged.`,
    });
  }
  await wantLonger(parts, earlier);
  return (
    answerOnceRun(earlier) ??
    waitForFirst(async () => {
      const payment = await findPayment(parts, earlier.id);
      return payment && answerOnceRun(payment);
    })
  );
}

/** A repeated request extends `wantedUntil`. */
async function wantLonger(parts: PaymentParts, earlier: Payment): Promise<void> {
  const now = parts.now();
  const wantedUntil = now + parts.wantedMs;
  if (earlier.state !== 'in_doubt' || !isWanted(earlier, now)) return;
  if (wantedUntil - earlier.wantedUntil < Math.min(wantedStepMs, parts.wantedMs / 10)) return;
  await changePayment(parts, earlier.id, (payment) =>
    payment.state === 'in_doubt' && isWanted(payment, now)
      ? { payment: { ...payment, wantedUntil: Math.max(wantedUntil, payment.wantedUntil) } }
      : undefined,
  );
}

/** Undefined while the first request is still running. */
function answerOnceRun(payment: Payment): PaymentAnswer | undefined {
  const isRunning = payment.answer === undefined && payment.state === 'calling';
  return isRunning ? undefined : answerNow(payment, { replayed: true });
}
