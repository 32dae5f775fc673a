import { hash } from 'node:crypto';
import { defined } from '../defined.ts';
import { invalidRequest, ServiceError } from '../errors.ts';
import type { Engine, Space, Write } from '../storage/engine.ts';
import type { Item } from '../storage/item-text.ts';
import type { Metadata, PaidItem, Payment, Revocation } from './payment.ts';
import type { ItemPolicy, ItemSource } from './payment-routes.ts';

/** The writes that make and delete items of tables. Both throw ServiceError if the table or the item is not allowed. */
export interface ItemWriter {
  readonly itemWrite: (table: string, item: Item) => Write;
  /** The engine rejects the write if the item has changed. */
  readonly itemDeletion: (table: string, item: Item) => Write;
}

/** Holds: the items that open charges will make. They prevent two charges from making the same item. */
export const awaitedSpace: Space = 'service:awaited-items';

/** Throws `invalid_request` if the metadata lacks a value that the item needs. */
export function awaitedItem(
  { table, id, name, on_refund, on_dispute }: ItemPolicy,
  paymentId: string,
  metadata: Metadata | undefined,
): PaidItem {
  const resolveSource = (source: ItemSource): string | undefined => {
    if (source === 'charge_id') return undefined;
    return source === 'payment_id' ? paymentId : metadataValue(metadata, source);
  };
  const revokedBy: Revocation[] = [];
  if (on_refund === 'delete') revokedBy.push('refund');
  if (on_dispute === 'delete') revokedBy.push('dispute');
  return {
    table,
    ...defined({ id: resolveSource(id), name: resolveSource(name) }),
    ...(revokedBy.length === 0 ? {} : { revokedBy }),
    state: 'awaited',
  };
}

function metadataValue(metadata: Metadata = {}, source: string): string {
  const key = source.slice('metadata.'.length);
  const value = Object.hasOwn(metadata, key) ? metadata[key] : undefined;
  if (value !== undefined) return value;
  const message = `This payment route needs ${source}: it becomes part of an item.`;
  throw invalidRequest(source, message);
}

/** Checks, before the charge, that no item with this id exists. Throws `invalid_request`, `item_exists`. */
export async function checkItemIsFree(
  { engine, itemWrite }: Pick<ItemWriter, 'itemWrite'> & { readonly engine: Engine },
  item: PaidItem,
): Promise<void> {
  const { space, id } = itemWrite(item.table, { id: item.id ?? '?', name: item.name ?? '?' });
  if (item.id !== undefined && (await engine.get(space, id)) !== undefined) throw itemExists();
}

/**
 * Whether the payment holds an item that other payments may want. No other payment wants an item whose id is the charge
 * id.
 */
export function holdsItem({ item }: Payment): boolean {
  return item?.state === 'awaited' && item.id !== undefined;
}

function itemExists(): ServiceError {
  const message = 'The item that this payment would make is there already; nothing was charged.';
  return new ServiceError('item_exists', { param: 'metadata', message });
}

/** Reserves the item's id for this payment. An item whose id is the charge id needs no reservation. */
export function reserveItem(item: PaidItem, paymentId: string): Write[] {
  if (item.id === undefined) return [];
  return [{ kind: 'create', space: awaitedSpace, id: holdId(item), value: paymentId, makeSpace: true }];
}

export function isItemReservation({ space }: Write): boolean {
  return space === awaitedSpace;
}

/** Releases the hold of this payment, if it still has it. */
export function releaseItem(item: PaidItem, paymentId: string): Write[] {
  if (item.id === undefined || item.state !== 'awaited') return [];
  return [{ kind: 'delete', space: awaitedSpace, id: holdId(item), ifValue: paymentId }];
}

/** The write that makes the item of a payment whose charge has succeeded. */
export function made({ itemWrite }: Pick<ItemWriter, 'itemWrite'>, payment: Payment): Write | undefined {
  const { item } = payment;
  return item === undefined ? undefined : itemWrite(item.table, paidContent(item, payment));
}

/** The id and the name of the item of a payment whose charge has succeeded. */
export function paidContent({ id, name }: PaidItem, { chargeId = '' }: Payment): Item {
  return { id: id ?? chargeId, name: name ?? chargeId };
}

/** A hash, so that the length of the hold's id does not depend on that of the item's id. */
function holdId({ table, id }: PaidItem): string {
  return hash('sha256', JSON.stringify([table, id]), 'base64url');
}
