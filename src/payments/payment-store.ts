import type { Engine, Rejection, Space, Write } from '../storage/engine.ts';
import { itemsOf } from '../storage/item-text.ts';
import {
  chargeEntry,
  chargesSpace,
  idPrefix,
  type Payment,
  paymentKeysSpace,
  paymentsSpace,
} from './payment.ts';

interface Records {
  readonly engine: Engine;
}

export async function findPayment({ engine }: Records, id: string): Promise<Payment | undefined> {
  const text = await engine.get(paymentsSpace, id);
  return text === undefined ? undefined : (JSON.parse(text) as Payment);
}

/** The payment of an entry of `service:payment-keys`. */
export async function findPaymentByKey(store: Records, keyEntry: string): Promise<Payment | undefined> {
  const id = await store.engine.get(paymentKeysSpace, keyEntry);
  return id === undefined ? undefined : findPayment(store, id);
}

/** The payment of one of the processor's charges. */
export async function findPaymentByCharge(
  store: Records,
  processor: string,
  chargeId: string,
): Promise<Payment | undefined> {
  const id = await store.engine.get(chargesSpace, chargeEntry(processor, chargeId));
  return id === undefined ? undefined : findPayment(store, id);
}

/** Payments, oldest first. @param after only payments after this id */
export async function* paymentsAfter(
  { engine }: Records,
  after: string | undefined,
): AsyncGenerator<Payment> {
  const scan = await engine.scan(paymentsSpace, after === undefined ? {} : { after });
  for await (const { name } of itemsOf(scan?.chunks ?? [])) yield JSON.parse(name) as Payment;
}

/** Payments made from a time on, oldest first. @param since milliseconds since 1970 */
export function paymentsSince(store: Records, since: number): AsyncGenerator<Payment> {
  return paymentsAfter(store, idPrefix(Math.max(0, since)));
}

/** The id of a payment that was made after a time; undefined if there is none. @param time milliseconds since 1970 */
export async function paymentMadeAfter(engine: Engine, time: number): Promise<string | undefined> {
  const scan = await engine.scan(paymentsSpace, { after: idPrefix(time), limit: 1 });
  for await (const { id } of itemsOf(scan?.chunks ?? [])) return id;
  return undefined;
}

/** The changed payment, and what is written with it in the same commit. */
export interface Change {
  readonly payment: Payment;
  readonly writes?: readonly Write[];
}

/**
 * Changes a payment, and tries again if it was changed meanwhile. `change` returns undefined to change nothing. Throws
 * WriteRejected when one of the other writes fails.
 *
 * @param known the payment as this process last saw it, which saves a read if it has not changed since
 * @returns the payment afterwards, and whether this call changed it
 */
export async function changePayment(
  store: Records,
  id: string,
  change: (payment: Payment) => Change | undefined | Promise<Change | undefined>,
  known?: Payment,
): Promise<{ readonly payment: Payment; readonly isChanged: boolean }> {
  for (let last = known; ; last = undefined) {
    const before = last ?? (await findPayment(store, id));
    if (before === undefined) throw new Error(`there is no payment ${id}`);
    const changed = await change(before);
    if (changed === undefined) return { payment: before, isChanged: false };
    const failure = await store.engine.commit([replaced(before, changed.payment), ...(changed.writes ?? [])]);
    if (failure === undefined) return { payment: changed.payment, isChanged: true };
    if (failure.write !== 0) throw new WriteRejected(failure, changed.writes?.[failure.write - 1]);
  }
}

/** Fails if the space has the id. */
export function created(space: Space, id: string, value: string): Write {
  return { kind: 'create', space, id, value, makeSpace: true };
}

export function replaced(before: Payment, after: Payment): Write {
  return {
    kind: 'replace',
    space: paymentsSpace,
    id: before.id,
    value: textOf(after),
    ifValue: textOf(before),
  };
}

/** A payment's stored text. Cached, because the next change compares with it. */
export function textOf(payment: Payment): string {
  let text = texts.get(payment);
  if (text === undefined) {
    text = JSON.stringify(payment);
    texts.set(payment, text);
  }
  return text;
}

const texts = new WeakMap<Payment, string>();

/** One of the writes beside the payment failed, so nothing was written. */
export class WriteRejected extends Error {
  readonly write: Write | undefined;
  readonly reason: Rejection['reason'];

  constructor({ reason }: Rejection, write: Write | undefined) {
    super(`${write?.kind} in ${write?.space} failed: ${reason}`);
    this.write = write;
    this.reason = reason;
  }
}
