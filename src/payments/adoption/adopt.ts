import type { Write } from '../../storage/engine.ts';
import { accountName } from '../accounts.ts';
import type { PaymentContext } from '../context.ts';
import { adoptedBeforeMsDefault, recordsEnd, reservationMsMax } from '../limits.ts';
import type { ItemProblem, Payment } from '../payment.ts';
import { paymentsSince } from '../payment-store.ts';
import type { Restored } from '../payments-lock.ts';
import { isFullyRefunded } from '../refund/amounts.ts';
import { coveredBy, type NeededAccount, neededAccounts, type ReadableAccount } from './accounts.ts';
import { endOpenAttempts } from './attempts.ts';
import { type Adopted, adoptCharges } from './charges.ts';

export interface AdoptionOptions {
  /** The time from which records are read, in milliseconds since 1970; by default 90 days before the backup. */
  readonly from?: number | undefined;
  /** Whether payments may open although a repeated request may be charged again. */
  readonly acceptUnknownKeys: boolean;
  /** Names of accounts that the store began to charge with after the backup. */
  readonly newAccounts: readonly string[];
  /**
   * Names of accounts whose records can no longer be read. Payments open without these records, and stay shut for these
   * accounts.
   */
  readonly withoutAccounts: readonly string[];
  /** Whether payments may open although no processor is configured, for a service that takes no payments. */
  readonly withoutProcessors: boolean;
  /** The audit entry to commit with the opening. */
  readonly audit: (backup: string) => Write;
}

export interface Adoption {
  /** Undefined if the store was never restored. */
  readonly restored: Restored | undefined;
  /** Names of the accounts whose records this run has read. */
  readonly accounts: readonly string[];
  readonly adopted: readonly Adopted[];
  /** The payments of attempts that cardholders could still have confirmed. Includes those of earlier runs. */
  readonly attempts: readonly Payment[];
  /** Charges without the item that they pay for. Includes those of earlier runs. */
  readonly withoutItem: readonly {
    readonly payment: Payment;
    readonly problem: ItemProblem | 'item_exists';
  }[];
  /** Why payments stay shut; undefined if they are open. */
  readonly rejection: Rejection | undefined;
}

export interface Rejection {
  readonly code:
    | 'account_unread'
    | 'account_unknown'
    | 'no_processor'
    | 'keys_unknown'
    | 'records_unreadable'
    | 'period_too_late';
  readonly message: string;
}

/**
 * After a restore, adds what the store lacks from the processors' records. Payments open once the records of every
 * account that the store has charged with are read. Each run reads the accounts whose keys are configured and remembers
 * them, so two accounts of one processor take two runs. Nothing is adopted from an account that the store does not
 * know. Safe to repeat, to kill at any moment, and to run twice at once.
 */
export async function adopt(context: PaymentContext, options: AdoptionOptions): Promise<Adoption> {
  const restored = await context.lock.restored();
  const nothing = {
    restored,
    accounts: [],
    adopted: [],
    attempts: [],
    withoutItem: [],
    rejection: undefined,
  };
  if (restored === undefined) return nothing;
  const lostSince = Math.min(Date.parse(restored.snapshotAt), Date.parse(restored.restoredAt), context.now());
  const from = options.from ?? lostSince - adoptedBeforeMsDefault;
  if (from > lostSince) return { ...nothing, rejection: tooLate(lostSince) };

  const needed = await neededAccounts(context);
  const adopted: Adopted[] = [];
  const read: string[] = [];
  const end = async (rejection: Rejection | undefined): Promise<Adoption> => {
    return { restored, accounts: read, adopted, ...(await listed(context, from)), rejection };
  };
  const found = await readable(context, needed, options.newAccounts);
  if ('code' in found) return end(found);
  for (const { account, processor, covers } of found) {
    const name = accountName(account);
    try {
      const period = { from, until: recordsEnd };
      await endOpenAttempts(context, processor, account, period);
      for await (const each of adoptCharges(context, processor, account, period)) adopted.push(each);
    } catch (error) {
      return end(unreadable(name, error as Error));
    }
    await context.lock.noteRead([name, ...covers]);
    read.push(name);
  }
  const rejection = await findRejection(context, needed, from, options);
  if (rejection === undefined) {
    const { withoutAccounts: without, audit } = options;
    const at = new Date(context.now()).toISOString();
    await context.lock.open({ without, at, audit: audit(restored.backup) });
  }
  return end(rejection);
}

/**
 * The accounts whose keys are configured. The result is a rejection if the store knows other accounts of a processor
 * but not the one of its key. Then nothing is adopted from any account.
 */
async function readable(
  context: PaymentContext,
  needed: ReadonlyMap<string, NeededAccount>,
  newAccounts: readonly string[],
): Promise<readonly ReadableAccount[] | Rejection> {
  const found: ReadableAccount[] = [];
  for (const processor of context.processors.values()) {
    if (processor === undefined) continue;
    try {
      const account = await context.accounts.required(processor);
      const name = accountName(account);
      const covers = await coveredBy(processor, account, needed);
      const known = [...needed.values()].filter((each) => each.account.processor === processor.name);
      if (known.length > 0 && covers.length === 0 && !newAccounts.includes(name)) return unknown(name, known);
      found.push({ account, processor, covers });
    } catch (error) {
      return unreadable(processor.name, error as Error);
    }
  }
  return found;
}

/** Why payments must not open yet, considering what all runs since the restore have read. */
async function findRejection(
  context: PaymentContext,
  needed: ReadonlyMap<string, NeededAccount>,
  from: number,
  { withoutAccounts, withoutProcessors, acceptUnknownKeys }: AdoptionOptions,
): Promise<Rejection | undefined> {
  const { read = [], without = [] } = (await context.lock.restored()) ?? {};
  const settled = new Set([...read, ...without, ...withoutAccounts]);
  const unread = [...needed.keys()].filter((name) => !settled.has(name));
  if (unread.length > 0) return notRead(unread);
  if (read.length === 0 && !withoutProcessors) return noProcessor;
  if (acceptUnknownKeys) return undefined;
  let count = 0;
  for await (const { isKeyUnknown } of paymentsSince(context, from - reservationMsMax))
    if (isKeyUnknown) count++;
  return count === 0 ? undefined : keysUnknown(count);
}

/** What an operator must look at. Read from the store, because a killed run has reported nothing. */
async function listed(
  context: PaymentContext,
  from: number,
): Promise<Pick<Adoption, 'attempts' | 'withoutItem'>> {
  const attempts: Payment[] = [];
  const withoutItem: Adoption['withoutItem'][number][] = [];
  for await (const payment of paymentsSince(context, from - reservationMsMax)) {
    if (payment.isAdopted && payment.authentication !== undefined) attempts.push(payment);
    const problem = payment.itemProblem ?? (payment.item?.state === 'conflict' ? 'item_exists' : undefined);
    const isPaid = payment.chargeId !== undefined && !isFullyRefunded(payment);
    if (problem !== undefined && isPaid) withoutItem.push({ payment, problem });
  }
  return { attempts, withoutItem };
}

function tooLate(lostSince: number): Rejection {
  const at = new Date(lostSince).toISOString();
  return {
    code: 'period_too_late',
    message: `--from is later than the backup of ${at}: the charges in between would stay unknown`,
  };
}

function unreadable(name: string, { name: kind, message }: Error): Rejection {
  return {
    code: 'records_unreadable',
    message: `the records of ${name} cannot be read (${kind}: ${message}); payments stay shut; run the command again`,
  };
}

function unknown(name: string, known: readonly NeededAccount[]): Rejection {
  const names = known.map(({ account }) => accountName(account)).join(', ');
  return {
    code: 'account_unknown',
    message:
      `the configured key belongs to ${name}, and the store has charged with ${names}: nothing was adopted. Configure the key of ` +
      `that account and mode. If the service began to charge with ${name} after the backup, add --new-account ${name}`,
  };
}

function notRead(names: readonly string[]): Rejection {
  const flags = names.map((name) => `--without-account ${name}`).join(' ');
  return {
    code: 'account_unread',
    message:
      `the store has charged with ${names.join(', ')}, whose records were not read: payments stay shut. Run this again with the ` +
      `key of each; what was read is remembered. To open payments without them, and never for them: ${flags}`,
  };
}

const noProcessor: Rejection = {
  code: 'no_processor',
  message:
    'no processor is configured here, so no records were read: payments stay shut. Run this with the settings of the service. ' +
    'If it takes no payments, add --without-processors',
};

function keysUnknown(count: number): Rejection {
  return {
    code: 'keys_unknown',
    message:
      `${count} adopted payments have no idempotency key, because the processor's records do not hold it: a caller that repeats ` +
      'one of these requests would be charged again. Payments stay shut. When no caller repeats them any more, run this with ' +
      '--accept-unknown-keys',
  };
}
