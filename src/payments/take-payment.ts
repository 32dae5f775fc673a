import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '../errors.ts';
import {
  chargeLeaseMs,
  idempotentWaitMsMax,
  processorCallMsMax,
  recoveryDelayMsMax,
  recoveryDelayMsMin,
} from '../limits.ts';
import { errorFields, type Log } from '../log.ts';
import type { ChargeOutcome, Processor } from '../processors/processor.ts';
import type { Sealer } from '../secrets/sealer.ts';
import type { Engine, Write } from '../storage/engine.ts';
import { answerOf, errorAnswer, outcomeUnknown } from './answer.ts';
import { type ChargeState, hasEnded, move } from './charge.ts';
import { checkOrder, type Order, type PaymentRequest, type RoutePolicy } from './order.ts';
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
  type StoredAnswer,
  tokenDigest,
  tokenKeyEntry,
  tokenPlace,
} from './payment.ts';

/** What payments need; `main.ts` fills it in. */
export interface PaymentParts {
  readonly engine: Engine;
  /** By path segment; undefined stands for a processor that is known but has no key in the settings. */
  readonly processors: ReadonlyMap<string, Processor | undefined>;
  readonly routes: ReadonlyMap<string, RoutePolicy>;
  readonly sealer: Sealer;
  readonly log: Log;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export interface PaymentAnswer extends StoredAnswer {
  readonly paymentId: string;
  /** Whether this is the answer to an earlier request with the same key. */
  readonly replayed: boolean;
  readonly retryAfterSeconds?: number;
}

const unknownRetryAfterSeconds = 2;
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

export function findProcessor({ processors }: PaymentParts, name: string): Processor {
  const processor = processors.get(name);
  if (processor !== undefined) return processor;
  throw new ServiceError(processors.has(name) ? 'processor_not_configured' : 'processor_not_found');
}

export function findRoute({ routes }: PaymentParts, name: string): RoutePolicy {
  const route = routes.get(name);
  if (route === undefined)
    throw new ServiceError('route_not_found', { message: 'There is no payment route of this name.' });
  return route;
}

export async function findPayment({ engine }: PaymentParts, id: string): Promise<Payment | undefined> {
  const text = await engine.get(paymentsSpace, id);
  return text === undefined ? undefined : (JSON.parse(text) as Payment);
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

/**
 * The second and third step, for a charge whose lease is ours: asks the processor, always with the payment's own
 * key, and stores what became of it. Recovery comes in here too.
 */
export async function driveCharge(
  parts: PaymentParts,
  payment: Payment,
  token: string,
): Promise<PaymentAnswer> {
  const outcome = knownOutcome(payment, await ask(findProcessor(parts, payment.processor), payment, token));
  const asked = afterOutcome(payment, outcome);
  try {
    await settle(parts, payment, asked, { freeKey: outcome.kind === 'not_taken' });
  } catch (error) {
    // The charge may have been made, and its record says "calling": recovery will tell the truth from there.
    parts.log.error('charge_not_settled', { payment_id: payment.id, ...errorFields(error) });
    return { ...unknownAnswer(payment), replayed: false };
  }
  const detail = 'detail' in outcome ? outcome.detail : undefined;
  parts.log.info('charge', {
    payment_id: payment.id,
    processor: payment.processor,
    state: asked.state,
    detail,
  });
  if (asked.answer === undefined) return { ...unknownAnswer(payment), replayed: false };
  return { ...asked.answer, paymentId: payment.id, replayed: false };
}

async function ask(processor: Processor, payment: Payment, token: string): Promise<ChargeOutcome> {
  const { id: paymentId, processorKey, amount, currency } = payment;
  try {
    return await processor.charge({
      paymentId,
      processorKey,
      amount,
      currency,
      token,
      timeoutMs: processorCallMsMax,
    });
  } catch (error) {
    return { kind: 'unknown', detail: `the adapter threw ${(error as Error).name}` };
  }
}

/** Being turned away now proves nothing about an earlier attempt, which may have charged. */
function knownOutcome(payment: Payment, outcome: ChargeOutcome): ChargeOutcome {
  if (outcome.kind !== 'not_taken' || payment.state !== 'in_doubt') return outcome;
  return { kind: 'unknown', detail: outcome.detail };
}

/** The payment as the outcome leaves it: one that has ended has its answer, and its token is erased. */
function afterOutcome(payment: Payment, outcome: ChargeOutcome): Payment {
  const state = move(payment.state, stateOf(outcome));
  const attempts = payment.attempts + 1;
  if (!hasEnded(state)) return { ...payment, state, attempts };
  return {
    ...withoutToken(payment),
    state,
    attempts,
    ...(outcome.kind === 'succeeded' ? { chargeId: outcome.chargeId } : {}),
    ...(outcome.kind === 'declined' ? { declineCode: outcome.declineCode } : {}),
    answer: answerOf(outcome, payment),
  };
}

export function withoutToken(payment: Payment): Payment {
  const { sealedToken: _erased, ...kept } = payment;
  return kept;
}

function stateOf(outcome: ChargeOutcome): ChargeState {
  if (outcome.kind === 'succeeded') return 'succeeded';
  return outcome.kind === 'unknown' ? 'in_doubt' : 'declined';
}

/**
 * One commit: the payment as it is now, its marker (removed, or free to be taken up again after a while) and,
 * where nothing was asked so that the same request may fare better later, the caller's key.
 */
export async function settle(
  { engine, now }: PaymentParts,
  before: Payment,
  after: Payment,
  { freeKey }: { readonly freeKey: boolean },
): Promise<void> {
  const { id, keyEntry } = before;
  const lease: OpenPayment = { leaseEndsAt: now() + recoveryDelayMs(after.attempts) };
  const writes: Write[] = [
    {
      kind: 'replace',
      space: paymentsSpace,
      id,
      value: JSON.stringify(after),
      ifValue: JSON.stringify(before),
    },
    hasEnded(after.state)
      ? { kind: 'delete', space: openPaymentsSpace, id }
      : { kind: 'replace', space: openPaymentsSpace, id, value: JSON.stringify(lease) },
  ];
  if (freeKey && keyEntry !== undefined)
    writes.push({ kind: 'delete', space: paymentKeysSpace, id: keyEntry });
  const refusal = await engine.commit(writes);
  if (refusal !== undefined) throw new Error(`payment ${id} was changed by someone without its lease`);
}

function recoveryDelayMs(attempts: number): number {
  return Math.min(recoveryDelayMsMin * 2 ** (attempts - 1), recoveryDelayMsMax);
}

function unknownAnswer(payment: Payment): Omit<PaymentAnswer, 'replayed'> {
  const answer = errorAnswer(outcomeUnknown(payment), payment.requestId);
  return { ...answer, paymentId: payment.id, retryAfterSeconds: unknownRetryAfterSeconds };
}
