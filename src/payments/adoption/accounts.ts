import type { ConnectedProcessor } from '../../processors/processor.ts';
import { accountName, type ChargeAccount, notedAccounts, pickAccount } from '../accounts.ts';
import type { PaymentContext } from '../context.ts';
import { lookUpMsMax } from '../limits.ts';
import { paymentsAfter } from '../payment-store.ts';

/** An account that the store has charged with, and whose records a restored store must read. */
export interface NeededAccount {
  readonly account: ChargeAccount;
  /** The newest charge that the store has of it. */
  newest?: { readonly paymentId: string; readonly chargeId: string };
}

/** An account whose key is configured, and the accounts of the store that it is. */
export interface ReadableAccount {
  readonly account: ChargeAccount;
  readonly processor: ConnectedProcessor;
  /** Names. */
  readonly covers: readonly string[];
}

/**
 * The accounts that the store has charged with, by name: those that it has recorded, and those of its payments. Both, because
 * a store of an earlier version has recorded none, and a recovered one may lack a part of either. Reads all payments.
 */
export async function neededAccounts(
  context: Pick<PaymentContext, 'engine'>,
): Promise<ReadonlyMap<string, NeededAccount>> {
  const needed = new Map<string, NeededAccount>();
  const of = (account: ChargeAccount): NeededAccount => {
    const name = accountName(account);
    const found = needed.get(name) ?? { account };
    needed.set(name, found);
    return found;
  };
  for (const account of await notedAccounts(context.engine)) of(account);
  for await (const payment of paymentsAfter(context, undefined)) {
    const { id: paymentId, chargeId } = payment;
    const found = of(pickAccount(payment));
    if (chargeId !== undefined) found.newest = { paymentId, chargeId };
  }
  return needed;
}

/**
 * Finds out which accounts of the store a configured key reads. An account that the store knows in full is compared. Of one
 * whose id or mode is not known, as in payments of earlier versions, the records must have the newest charge.
 *
 * @returns the names of those accounts. Rejects if the records cannot be read
 */
export async function coveredBy(
  processor: ConnectedProcessor,
  account: ChargeAccount,
  needed: ReadonlyMap<string, NeededAccount>,
): Promise<readonly string[]> {
  const covered: string[] = [];
  for (const [name, each] of needed) {
    if (contradicts(each.account, account)) continue;
    if (isSame(each.account, account) || (await hasNewest(processor, each))) covered.push(name);
  }
  return covered;
}

function contradicts(one: ChargeAccount, other: ChargeAccount): boolean {
  const differ = (a?: string, b?: string) => a !== undefined && b !== undefined && a !== b;
  return (
    one.processor !== other.processor || differ(one.account, other.account) || differ(one.mode, other.mode)
  );
}

function isSame(one: ChargeAccount, other: ChargeAccount): boolean {
  return one.account !== undefined && one.mode !== undefined && accountName(one) === accountName(other);
}

/** True if the store has no charge of it: then nothing distinguishes the right records, and payments open only for those that were read. */
async function hasNewest(processor: ConnectedProcessor, { newest }: NeededAccount): Promise<boolean> {
  if (newest === undefined) return true;
  const owner = await processor.findOwner(newest.chargeId, lookUpMsMax);
  if (owner.kind === 'unknown') throw new Error(owner.detail);
  return owner.paymentId === newest.paymentId;
}
