import { copyFileSync, cpSync } from 'node:fs';
import { audited } from '../../../src/audit/audit.ts';
import { type Adoption, type AdoptionOptions, adopt } from '../../../src/payments/adoption/adopt.ts';
import type { PaymentContext } from '../../../src/payments/context.ts';
import { FileLedger } from '../../../src/processors/simulated/file-ledger.ts';
import { simulatedProcessor } from '../../../src/processors/simulated/simulated.ts';
import { type Bought, buy, formerRoutes, openContext, restoreTo } from './restored-store.ts';

/** A restored store, and the books of the simulated processor that have gone on after its backup. */

export const keysCharged = ['second', 'third', 'refunded', 'gone', 'taken'] as const;
const bought: Readonly<Record<string, Bought>> = {
  first: { key: 'first', seat: 'A-1' },
  second: { key: 'second', seat: 'A-2', token: 'tok_lost_reply' },
  third: { key: 'third', seat: 'A-3' },
  refunded: { key: 'refunded', seat: 'A-4' },
  challenged: { key: 'challenged', seat: 'A-5', token: 'tok_requires_action' },
  gone: { key: 'gone', seat: 'A-6', route: 'gone' },
  taken: { key: 'taken', seat: 'A-7' },
};

export interface World {
  /** Payment ids by their keys. */
  readonly ids: Readonly<Record<string, string>>;
  /** What `copyWorld` copies. */
  readonly folder: string;
}

/**
 * Makes it: `first` and `second` are charged before the backup, `second` with a lost reply; the rest after it. Then `first` is
 * refunded, and the shop sells seat A-7 by hand in the restored store.
 */
export async function makeWorld(folder: string): Promise<World> {
  const [before, after] = [`${folder}-before`, `${folder}-after`];
  const processors = ledgerOf(folder);
  const ids: Record<string, string> = {};
  const buyAll = async (store: string, names: readonly string[]) => {
    const { engine, context } = openContext(store, processors, formerRoutes);
    for (const name of names) ids[name] = (await buy(context, bought[name] as Bought)).paymentId;
    await engine.close();
  };
  await buyAll(before, ['first', 'second']);
  cpSync(before, after, { recursive: true });
  await buyAll(after, ['third', 'refunded', 'challenged', 'gone', 'taken']);
  const ledger = FileLedger.open(`${folder}.jsonl`);
  for (const name of ['first', 'refunded']) {
    const chargeId = (await ledger.findCharge(ids[name] ?? ''))?.chargeId ?? '';
    await ledger.refund({ key: `refund-${name}`, refundId: `ref_${name}`, chargeId, amount: 2_000 });
  }
  await restoreTo(folder, before);
  const { engine, context } = openContext(folder, processors);
  await engine.commit([context.itemWrite('seats', { id: 'A-7', name: 'sold by hand' })]);
  await engine.close();
  return { ids, folder };
}

/** A store and its books, to be changed and killed. */
export function copyWorld({ folder }: World, to: string): void {
  cpSync(folder, to, { recursive: true });
  copyFileSync(`${folder}.jsonl`, `${to}.jsonl`);
}

export function ledgerOf(folder: string): PaymentContext['processors'] {
  return new Map([['simulated', simulatedProcessor(FileLedger.open(`${folder}.jsonl`))]]);
}

/** As the command does. */
export function adoptAll(context: PaymentContext, options: Partial<AdoptionOptions> = {}): Promise<Adoption> {
  return adopt(context, {
    acceptUnknownKeys: false,
    newAccounts: [],
    withoutAccounts: [],
    withoutProcessors: false,
    audit: (on) => audited({ what: 'payments.reconciled', on, by: 'cli' }),
    ...options,
  });
}

/** Requests every charge of the world again. @returns status and payment id by key */
export async function repeatAll(context: PaymentContext): Promise<Record<string, readonly [number, string]>> {
  const found: Record<string, readonly [number, string]> = {};
  for (const name of ['first', ...keysCharged]) {
    if (name === 'gone') continue;
    const { status, paymentId } = await buy(context, bought[name] as Bought);
    found[name] = [status, paymentId];
  }
  return found;
}
