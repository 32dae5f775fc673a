import { LRUCache } from 'lru-cache';
import type { SealedRecords } from '../secrets/sealer.ts';
import type { Engine, Space, Write } from '../storage/engine.ts';
import { itemsOf } from '../storage/item-text.ts';
import { Records, type Stored, WriteRejected } from '../storage/records.ts';
import { replayCacheMax } from './limits.ts';
import {
  actionPlace,
  buyerAddressPlace,
  chargeEntry,
  chargesSpace,
  idPrefix,
  type Payment,
  paymentKeysSpace,
  paymentsSpace,
  receiptEmailPlace,
  tokenPlace,
} from './payment.ts';

interface Store {
  readonly engine: Engine;
}

export async function findPayment({ engine }: Store, id: string): Promise<Payment | undefined> {
  const stored = await records(engine).find(id);
  return stored && read(stored);
}

/** Throws if there is no such payment, because a reference in our own records must be right. */
export async function requiredPayment(store: Store, id: string): Promise<Payment> {
  const payment = await findPayment(store, id);
  if (payment === undefined) throw new Error(`there is no payment ${id}`);
  return payment;
}

/**
 * A payment in the store. If it was reserved before `retryUntil` got this name, it has `wantedUntil` instead, and may
 * still be open.
 */
type StoredPayment = Payment & { readonly wantedUntil?: number };

function records(engine: Engine): Records<StoredPayment> {
  return new Records(engine, 'payments');
}

/** The payment of an entry in `service:payment-keys`. */
export async function findPaymentByKey(store: Store, keyEntry: string): Promise<Payment | undefined> {
  const id = await store.engine.get(paymentKeysSpace, keyEntry);
  return id === undefined ? undefined : findPayment(store, id);
}

/** The payment of one of the processor's charges. */
export async function findPaymentByCharge(
  store: Store,
  processor: string,
  chargeId: string,
): Promise<Payment | undefined> {
  const id = await store.engine.get(chargesSpace, chargeEntry(processor, chargeId));
  return id === undefined ? undefined : findPayment(store, id);
}

/** Payments, oldest first. @param after the id after which they begin */
export async function* paymentsAfter({ engine }: Store, after: string | undefined): AsyncGenerator<Payment> {
  for await (const stored of records(engine).list(after === undefined ? {} : { after })) yield read(stored);
}

/** Payments made from a time on, oldest first. @param since milliseconds since 1970 */
export function paymentsSince(store: Store, since: number): AsyncGenerator<Payment> {
  return paymentsAfter(store, idPrefix(Math.max(0, since)));
}

/** The id of a payment that was made after a time; undefined if there is none. @param time milliseconds since 1970 */
export async function paymentMadeAfter(engine: Engine, time: number): Promise<string | undefined> {
  const scan = await engine.scan(paymentsSpace, { after: idPrefix(time), limit: 1 });
  for await (const { id } of itemsOf(scan?.chunks ?? [])) return id;
  return undefined;
}

/** The changed payment, and the other writes of the same commit. */
export interface Change {
  readonly payment: Payment;
  readonly writes?: readonly Write[];
}

/**
 * Commits a change of a payment.
 *
 * @returns undefined if the change is committed; an error without a `write` if the payment itself was changed meanwhile
 */
export async function commitChange(
  { engine }: Store,
  before: Payment,
  { payment, writes = [] }: Change,
): Promise<WriteRejected | undefined> {
  const failure = await engine.commit([replaced(before, payment), ...writes]);
  return failure && new WriteRejected(failure, writes[failure.write - 1]);
}

/**
 * Changes a payment, and tries again if another process has changed it meanwhile. `change` returns undefined to change
 * nothing. Throws WriteRejected if the engine rejects one of the other writes.
 *
 * @param known the payment as this process last saw it; saves a read if the payment has not changed since
 * @returns the payment before and afterwards, and whether this call changed it
 */
export async function changePayment(
  store: Store,
  id: string,
  change: (payment: Payment) => Change | undefined,
  known?: Payment,
): Promise<{ readonly before: Payment; readonly payment: Payment; readonly isChanged: boolean }> {
  for (let last = known; ; last = undefined) {
    const before = last ?? (await requiredPayment(store, id));
    const changed = change(before);
    if (changed === undefined) return { before, payment: before, isChanged: false };
    const failed = await commitChange(store, before, changed);
    if (failed === undefined) return { before, payment: changed.payment, isChanged: true };
    if (failed.write !== undefined) throw failed;
  }
}

/** A write that the engine rejects if the space has the id. */
export function created(space: Space, id: string, value: string): Write {
  return { kind: 'create', space, id, value, makeSpace: true };
}

/** The write that stores a new payment. The engine rejects it if the id exists. */
export function paymentCreation(payment: Payment): Write {
  return created(paymentsSpace, payment.id, serialize(payment));
}

/** The write that names the payment of a processor's charge. The engine rejects it if the charge has a payment. */
export function chargeCreation(processor: string, chargeId: string, paymentId: string): Write {
  return created(chargesSpace, chargeEntry(processor, chargeId), paymentId);
}

/** The write that stores a changed payment. The engine rejects it if the payment has changed since it was read. */
export function replaced(before: Payment, after: Payment): Write {
  return {
    kind: 'replace',
    space: paymentsSpace,
    id: before.id,
    value: serialize(after),
    ifValue: serialize(before),
  };
}

/** A payment's stored text. It is cached, because the next change must compare with it. */
function serialize(payment: Payment): string {
  let text = texts.get(payment);
  if (text === undefined) {
    text = JSON.stringify(payment);
    texts.set(payment, text);
  }
  return text;
}

const texts = new WeakMap<Payment, string>();

function read({ value, text }: Stored<StoredPayment>): Payment {
  const payment = value.wantedUntil === undefined ? value : renamed(value);
  texts.set(payment, text);
  return payment;
}

function renamed({ wantedUntil = 0, ...payment }: StoredPayment): Payment {
  return { ...payment, retryUntil: wantedUntil };
}

/**
 * The secrets of open charges, in `service:payments`: card tokens, email addresses, next actions and buyers' addresses.
 * Most payments no longer have secrets. An email address occurs only with a token, and a buyer's address only with a
 * token or an action.
 */
export const sealedTokens: SealedRecords = {
  space: paymentsSpace,
  exchange(id, text, exchange) {
    // Parsing every stored payment would take most of the time.
    if (!text.includes('"sealedToken":') && !text.includes('"sealedAction":')) return text;
    const payment = JSON.parse(text) as Payment;
    const { sealedToken, sealedBuyerAddress: address, authentication, details } = payment;
    const sealedAction = authentication?.sealedAction;
    const email = details?.sealedReceiptEmail;
    if (sealedToken === undefined && sealedAction === undefined) return text;
    return JSON.stringify({
      ...payment,
      ...(sealedToken && { sealedToken: exchange(sealedToken, tokenPlace(id)) }),
      ...(address && { sealedBuyerAddress: exchange(address, buyerAddressPlace(id)) }),
      ...(email && { details: { ...details, sealedReceiptEmail: exchange(email, receiptEmailPlace(id)) } }),
      ...(sealedAction && {
        authentication: { ...authentication, sealedAction: exchange(sealedAction, actionPlace(id)) },
      }),
    });
  },
};

/**
 * Caches payments that were requested again, by idempotency key. It holds only succeeded payments, because their key,
 * request and response never change, whereas proof may override a decline. Other fields of a cached record, such as
 * refunds, may be stale, but a repeated request does not need them.
 */
export class ReplayCache {
  readonly #byKey = new LRUCache<string, Payment>({ max: replayCacheMax });

  get(keyEntry: string): Payment | undefined {
    return this.#byKey.get(keyEntry);
  }

  note(keyEntry: string, payment: Payment): void {
    if (payment.state !== 'succeeded' || payment.response === undefined) return;
    this.#byKey.set(keyEntry, payment);
  }
}
