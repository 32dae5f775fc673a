import type { ConnectedProcessor } from '../../processors/processor.ts';
import { accountName, type ChargeAccount, notedAccounts, pickAccount } from '../accounts.ts';
import type { PaymentContext } from '../context.ts';
import { lookUpMsMax } from '../limits.ts';
import { paymentsAfter } from '../payment-store.ts';

/** An account that the store has charged with. After a restore, its records must be read. */
export interface NeededAccount {
  readonly account: ChargeAccount;
  /** The account's newest charge in the store. */
  newest?: { readonly paymentId: string; readonly chargeId: string };
}

/** An account whose key is configured. */
export interface ReadableAccount {
  readonly account: ChargeAccount;
  readonly processor: ConnectedProcessor;
  /** The names under which the store knows the account; several if the store did not always know its id and mode. */
  readonly covers: readonly string[];
}

/**
 * The accounts that the store has charged with, by name. They come from the recorded accounts and from the payments,
 * because a store of an earlier version has recorded none, and a recovered store may lack some accounts or payments.
 * Reads all payments.
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
 * Finds out which accounts of the store a configured key reads. If the store knows an account's id and mode, both are
 * compared. If it does not, as with payments of earlier versions, the processor's records must contain the account's
 * newest charge.
 *
 * @returns the names of these accounts. Rejects if the records cannot be read
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

/**
 * Whether the processor's records contain the account's newest charge. Also true if the store has no charge of the
 * account: then nothing distinguishes its records, and payments open only for accounts whose records were read.
 */
async function hasNewest(processor: ConnectedProcessor, { newest }: NeededAccount): Promise<boolean> {
  if (newest === undefined) return true;
  const owner = await processor.findOwner(newest.chargeId, lookUpMsMax);
  if (owner.kind === 'unknown') throw new Error(owner.detail);
  return owner.paymentId === newest.paymentId;
}
