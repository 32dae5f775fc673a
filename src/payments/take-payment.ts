import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '../errors.ts';
import { chargeLeaseMs, idempotentWaitMsMax } from '../limits.ts';
import type { Processor } from '../processors/processor.ts';
import type { Write } from '../storage/engine.ts';
import { type PaymentAnswer, unknownAnswer } from './answer.ts';
import { move } from './charge.ts';
import { driveCharge } from './drive-charge.ts';
import { checkOrder, type Order, type PaymentRequest } from './order.ts';
import { findPayment, findProcessor, findRoute, type PaymentParts } from './parts.ts';
import {
  callerKeyEntry,
  differingField,
  newPaymentId,
  newProcessorKey,
  type OpenPayment,
  openPaymentsSpace,
  type Payment,
  paymentKeysSpace,
  paymentsSpace,
  tokenDigest,
  tokenKeyEntry,
  tokenPlace,
} from './payment.ts';

const replayPollMs = 25;

/**
 * Takes a payment: reserve → ask → settle. The reservation is on disk before the processor is asked, and the
 * outcome before the caller is answered; no transaction is open during the call.
 *
 * Refuses with `processor_not_found`, `processor_not_configured`, `route_not_found`, `invalid_request`,
 * `idempotency_key_reused`, `idempotency_key_in_use`. Everything else is an answer.
 */
export async function takePayment(parts: PaymentParts, request: PaymentRequest): Promise<PaymentAnswer> {
  const processor = findProcessor(parts, request.processor);
  const order = checkOrder(request, findRoute(parts, request.route));
  const payment = newPayment(parts, request, order, processor);
  const earlier = await reserve(parts, payment);
  if (earlier !== undefined) return replay(parts, earlier, order);
  return driveCharge(parts, payment, order.token);
}

function newPayment(
  parts: PaymentParts,
  request: PaymentRequest,
  order: Order,
  processor: Processor,
): Payment {
  const id = newPaymentId(parts.now());
  const keyEntry = keyEntryOf(request, order, processor);
  return {
    id,
    state: move('received', 'calling'),
    processor: request.processor,
    route: request.route,
    amount: order.amount,
    currency: order.currency,
    tokenDigest: tokenDigest(id, order.token),
    processorKey: newProcessorKey(),
    attempts: 0,
    ...(keyEntry === undefined ? {} : { keyEntry }),
    requestId: request.requestId,
    createdAt: new Date(parts.now()).toISOString(),
    sealedToken: parts.sealer.seal(order.token, tokenPlace(id)),
  };
}

function keyEntryOf(request: PaymentRequest, order: Order, processor: Processor): string | undefined {
  if (order.idempotencyKey !== undefined) {
    return callerKeyEntry(request.processor, request.route, order.idempotencyKey);
  }
  return processor.isSingleUse(order.token) ? tokenKeyEntry(request.processor, order.token) : undefined;
}

/** @returns the id of the payment that already has the key, or undefined when this one is reserved */
async function reserve({ engine, now }: PaymentParts, payment: Payment): Promise<string | undefined> {
  const { id, keyEntry } = payment;
  const lease: OpenPayment = { leaseEndsAt: now() + chargeLeaseMs };
  const writes: Write[] = [
    { kind: 'create', space: paymentsSpace, id, value: JSON.stringify(payment), makeSpace: true },
    { kind: 'create', space: openPaymentsSpace, id, value: JSON.stringify(lease), makeSpace: true },
  ];
  if (keyEntry !== undefined) {
    writes.unshift({ kind: 'create', space: paymentKeysSpace, id: keyEntry, value: id, makeSpace: true });
  }
  for (;;) {
    const refusal = await engine.commit(writes);
    if (refusal === undefined) return undefined;
    if (keyEntry === undefined || refusal.write !== 0)
      throw new Error(`payment id ${id} was given out twice`);
    const earlier = await engine.get(paymentKeysSpace, keyEntry);
    // Between the two, the earlier payment may have let go of the key: then it is free to be taken.
    if (earlier !== undefined) return earlier;
  }
}

/** Answers a repeated request as the first one was answered, waiting for it where it is still running. */
async function replay(parts: PaymentParts, paymentId: string, order: Order): Promise<PaymentAnswer> {
  const giveUpAt = parts.now() + idempotentWaitMsMax;
  for (;;) {
    const payment = await findPayment(parts, paymentId);
    if (payment === undefined) throw new Error(`a key leads to payment ${paymentId}, which is not there`);
    const field = differingField(payment, order);
    if (field !== undefined) {
      throw new ServiceError('idempotency_key_reused', {
        param: field,
        message: `This idempotency key was used before with another ${field}; nothing was charged.`,
      });
    }
    if (payment.answer !== undefined) return { ...payment.answer, paymentId, replayed: true };
    if (payment.state !== 'calling') return { ...unknownAnswer(payment), replayed: true };
    if (parts.now() >= giveUpAt) throw new ServiceError('idempotency_key_in_use', { retryAfterSeconds: 1 });
    await sleep(replayPollMs);
  }
}
