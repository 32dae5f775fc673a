import { cpSync } from 'node:fs';
import type { PaymentContext } from '../../../src/payments/context.ts';
import type { RoutePolicy } from '../../../src/payments/payment-routes.ts';
import { Payments, PaymentsLock } from '../../../src/payments/payments.ts';
import type { Engine } from '../../../src/storage/engine.ts';
import { itemsOf } from '../../../src/storage/item-text.ts';
import { openLmdbEngine } from '../../../src/storage/lmdb/open.ts';
import { contextOn } from './context-over.ts';

const on_success = { table: 'seats', id: 'metadata.seat', name: 'payment_id', on_refund: 'delete' } as const;

/** Routes that sell seats; the shop has since given up `gone`. */
export const seatRoutes: Readonly<Record<string, RoutePolicy>> = {
  charge: { unit: 'minor', on_success, return_urls: ['https://shop.example'] },
};
export const formerRoutes = { ...seatRoutes, gone: seatRoutes.charge as RoutePolicy };

export interface OpenedStore {
  readonly engine: Engine;
  readonly context: PaymentContext;
}

export function openContext(
  folder: string,
  processors: PaymentContext['processors'],
  routes = seatRoutes,
): OpenedStore {
  const engine = openLmdbEngine(folder);
  return { engine, context: contextOn(engine, routes, processors) };
}

/** Copies a closed store, as a restore of a backup of it does, and shuts its payments. */
export async function restoreTo(folder: string, from: string): Promise<void> {
  cpSync(from, folder, { recursive: true });
  const engine = openLmdbEngine(folder);
  const now = new Date().toISOString();
  await new PaymentsLock(engine).shut({
    snapshotAt: now,
    restoredAt: now,
    backup: 'counterfoil-of-the-test',
  });
  await engine.close();
}

export interface Bought {
  readonly key: string;
  readonly seat: string;
  readonly token?: string;
  readonly route?: string;
  readonly processor?: string;
}

/** Requests a charge with an idempotency key. */
export function buy(
  context: PaymentContext,
  { key, seat, token = 'tok_paid', route = 'charge', processor = 'simulated' }: Bought,
) {
  return new Payments(context).charge({
    processor,
    route,
    amount: 2_000,
    currency: 'EUR',
    token,
    metadata: { seat },
    ...(token === 'tok_requires_action' ? { returnUrl: 'https://shop.example/paid' } : {}),
    idempotencyKey: key,
    caller: 'test',
    needsPrice: false,
    requestId: 'req_test',
  });
}

/** Who has which seat: payment ids by seats. */
export async function seatsOf(engine: Engine): Promise<Readonly<Record<string, string>>> {
  const scan = await engine.scan('table:seats');
  const items = await Array.fromAsync(itemsOf(scan?.chunks ?? []));
  return Object.fromEntries(items.map(({ id, name }) => [id, name]));
}
