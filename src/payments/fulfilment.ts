import { hash } from 'node:crypto';
import { ServiceError } from '../errors.ts';
import type { Engine, Space, Write } from '../storage/engine.ts';
import type { Item } from '../storage/item-text.ts';
import type { Metadata, PaidItem, Payment } from './payment.ts';
import type { ItemPolicy, ItemSource } from './payment-routes.ts';
import { findPayment } from './payment-store.ts';

/** Most payments under way end within seconds. */
const heldRetryAfterSeconds = 5;

/** What makes an item of a table. */
export interface ItemWriter {
  /** Throws ServiceError for what no table takes. */
  readonly itemWrite: (table: string, item: Item) => Write;
}

/** Items that a charge under way will make: no two of them may make the same. */
const awaitedSpace: Space = 'service:awaited-items';

/** Refuses with `invalid_request` where the metadata lacks what the item is made of. */
export function awaitedItem(
  { table, id, name }: ItemPolicy,
  paymentId: string,
  metadata: Metadata | undefined,
): PaidItem {
  const textOf = (source: ItemSource): string | undefined => {
    if (source === 'charge_id') return undefined;
    return source === 'payment_id' ? paymentId : metadataValue(metadata, source);
  };
  return { table, ...defined({ id: textOf(id), name: textOf(name) }), state: 'awaited' };
}

function metadataValue(metadata: Metadata = {}, source: string): string {
  const key = source.slice('metadata.'.length);
  const value = Object.hasOwn(metadata, key) ? metadata[key] : undefined;
  if (value !== undefined) return value;
  const message = `This payment route needs ${source}: it becomes part of an item.`;
  throw new ServiceError('invalid_request', { param: source, message });
}

/** Before anything is asked: the item can be made as far as can be told. Refuses with `invalid_request`, `item_exists`. */
export async function checkItemIsFree(
  { engine, itemWrite }: ItemWriter & { readonly engine: Engine },
  item: PaidItem,
): Promise<void> {
  const { space, id } = itemWrite(item.table, { id: item.id ?? '?', name: item.name ?? '?' });
  if (item.id !== undefined && (await engine.get(space, id)) !== undefined) throw itemExists();
}

/** The item does not exist yet; the hold may be released. */
export async function itemIsHeld(
  store: { readonly engine: Engine },
  keeping: Write,
): Promise<ServiceError | undefined> {
  const holder = await store.engine.get(awaitedSpace, keeping.id);
  const payment = holder === undefined ? undefined : await findPayment(store, holder);
  // Between the two commits of an override a process may have died.
  if (payment?.item !== undefined && payment.item.state !== 'awaited') {
    await store.engine.commit([{ kind: 'delete', space: awaitedSpace, id: keeping.id, ifValue: payment.id }]);
    return undefined;
  }
  const until =
    payment === undefined ? '' : `, until ${new Date(payment.wantedUntil).toISOString()} or shortly after`;
  const message =
    payment?.state === 'needs_review'
      ? 'Another payment, which the shop must review, holds the item that this payment would make; nothing was charged.'
      : `Another payment under way holds the item that this payment would make${until}; nothing was charged.`;
  const retryAfterSeconds = heldRetryAfterSeconds;
  return new ServiceError('item_exists', { param: 'metadata', message, retryable: true, retryAfterSeconds });
}

export function itemExists(): ServiceError {
  const message = 'The item that this payment would make is there already; nothing was charged.';
  return new ServiceError('item_exists', { param: 'metadata', message });
}

/** Keeps the item's id for this payment; the charge id needs no keeping. */
export function reserveItem(item: PaidItem, paymentId: string): Write[] {
  if (item.id === undefined) return [];
  return [{ kind: 'create', space: awaitedSpace, id: entryOf(item), value: paymentId, makeSpace: true }];
}

export function isItemReservation({ space }: Write): boolean {
  return space === awaitedSpace;
}

/** Releases the hold of this payment; one that does not hold the item any more has nothing to release. */
export function releaseItem(item: PaidItem, paymentId: string): Write[] {
  if (item.id === undefined || item.state !== 'awaited') return [];
  return [{ kind: 'delete', space: awaitedSpace, id: entryOf(item), ifValue: paymentId }];
}

/** The write that makes the item of a payment whose charge has succeeded. */
export function made({ itemWrite }: ItemWriter, { item, chargeId = '' }: Payment): Write | undefined {
  if (item === undefined) return undefined;
  return itemWrite(item.table, { id: item.id ?? chargeId, name: item.name ?? chargeId });
}

/** Of one length, however long the id is. */
function entryOf({ table, id }: PaidItem): string {
  return hash('sha256', JSON.stringify([table, id]), 'base64url');
}

function defined(fields: {
  id: string | undefined;
  name: string | undefined;
}): Pick<PaidItem, 'id' | 'name'> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
