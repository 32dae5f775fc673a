import { defined } from '../defined.ts';
import { ServiceError } from '../errors.ts';
import type { Mode, ProcessorAccount } from '../processors/processor.ts';
import type { Engine, Space, Write } from '../storage/engine.ts';
import { Records } from '../storage/records.ts';
import { processorCheckMsMax } from './limits.ts';
import { openMarkers, parseOpenId } from './ownership/marker.ts';
import type { Payment } from './payment.ts';
import { findPayment } from './payment-store.ts';

/** An account at a processor, in one mode. The charges of one are in the records of no other. */
export interface ChargeAccount {
  readonly processor: string;
  /** The processor's id of the account; absent if its key may not read it. */
  readonly account?: string;
  /** Absent if the key does not show it, and of payments of earlier versions. */
  readonly mode?: Mode;
}

/** One item for each account that the store has ever charged with, under its name. Backups list them in their manifests. */
const chargeAccountsSpace: Space = 'service:charge-accounts';

/** The account as operators read and write it: `stripe/acct_1/live`. */
export function accountName({ processor, account, mode }: ChargeAccount): string {
  return [processor, account ?? 'unknown', mode ?? 'unknown'].join('/');
}

/** Only the fields of an account, of a payment or of itself. */
export function pickAccount({ processor, account, mode }: ChargeAccount): ChargeAccount {
  return {
    processor,
    ...defined({ account, mode }),
  };
}

/** Records an account. Commit it with the first charge, so that no charge is without it in any backup. Never fails. */
export function noteAccount(account: ChargeAccount): Write {
  const value = JSON.stringify(pickAccount(account));
  return { kind: 'put', space: chargeAccountsSpace, id: accountName(account), value, makeSpace: true };
}

/** The accounts that the store has recorded. Stores of earlier versions have recorded none. */
export async function notedAccounts(engine: Engine): Promise<ChargeAccount[]> {
  const accounts = new Records<ChargeAccount>(engine, 'charge-accounts');
  return Array.fromAsync(accounts.list(), ({ value }) => value);
}

/** The account that a processor's key belongs to. `id` is undefined if the key may not read the account. */
type Seen =
  | { readonly isKnown: true; readonly id: string | undefined; readonly mode: Mode | undefined }
  | { readonly isKnown: false; readonly detail: string };

/**
 * The accounts that the configured keys belong to. Each is read once: a key never changes its account, and another key
 * needs a restart.
 */
export class Accounts {
  readonly #known = new Map<ProcessorAccount, Seen>();
  readonly #reading = new Map<ProcessorAccount, Promise<Seen>>();
  readonly #engine: Pick<Engine, 'get'>;
  /** Names of accounts that the store has recorded. */
  readonly #noted = new Set<string>();

  constructor(engine: Pick<Engine, 'get'>) {
    this.#engine = engine;
  }

  async of(processor: ProcessorAccount): Promise<Seen> {
    const known = this.#known.get(processor);
    if (known !== undefined) return known;
    const reading = this.#reading.get(processor) ?? this.#read(processor);
    this.#reading.set(processor, reading);
    return reading;
  }

  async #read(processor: ProcessorAccount): Promise<Seen> {
    const account = await processor.account(processorCheckMsMax);
    this.#reading.delete(processor);
    if (account.kind === 'unknown') return { isKnown: false, detail: account.detail };
    const id = account.kind === 'account' ? account.id : undefined;
    const seen: Seen = { isKnown: true, id, mode: account.mode };
    this.#known.set(processor, seen);
    return seen;
  }

  /** For a new payment. Throws `processor_error` if the account cannot be read: the charge would fail too. */
  async required(processor: ProcessorAccount): Promise<ChargeAccount> {
    const seen = await this.of(processor);
    if (!seen.isKnown) throw new ServiceError('processor_error', { detail: seen.detail });
    const { id: account, mode } = seen;
    return {
      processor: processor.name,
      ...defined({ account, mode }),
    };
  }

  /** The write that records the account with its first charge; empty once it is recorded. */
  async noting(account: ChargeAccount): Promise<Write[]> {
    const name = accountName(account);
    if (this.#noted.has(name)) return [];
    if ((await this.#engine.get(chargeAccountsSpace, name)) === undefined) return [noteAccount(account)];
    this.#noted.add(name);
    return [];
  }

  /** Whether the payment belongs to another account than the configured key, or to its other mode. */
  async differs({ account, mode }: Payment, processor: ProcessorAccount): Promise<'no' | 'yes' | 'unknown'> {
    if (account === undefined && mode === undefined) return 'no';
    const seen = await this.of(processor);
    if (!seen.isKnown) return 'unknown';
    if (mode !== undefined && seen.mode !== undefined && seen.mode !== mode) return 'yes';
    if (account === undefined) return 'no';
    if (seen.id === undefined) return 'unknown';
    return seen.id === account ? 'no' : 'yes';
  }

  /** Throws `unavailable` if the payment belongs to another account than the configured key, or that is unknown. */
  async checkSame(payment: Payment, processor: ProcessorAccount): Promise<void> {
    const differs = await this.differs(payment, processor);
    if (differs === 'no') return;
    const message =
      differs === 'yes'
        ? 'This payment belongs to another processor account than the configured key, or to its other mode; nothing was ' +
          'done. Configure the key that made it.'
        : 'The processor account of this payment cannot be checked now; nothing was done.';
    throw new ServiceError('unavailable', { message, retryable: differs === 'unknown' });
  }
}

/** Ids of open payments that belong to another account of a processor, or to its other mode. */
export async function openOfOtherAccounts(
  engine: Engine,
  { processor, account, mode }: ChargeAccount,
): Promise<readonly string[]> {
  const found = new Set<string>();
  for await (const { id, value: marker } of openMarkers(engine).list()) {
    if (marker.processor !== processor) continue;
    const payment = await findPayment({ engine }, parseOpenId(id).paymentId);
    const isOfOther = payment?.account !== undefined && payment.account !== account;
    const isOfOtherMode = payment?.mode !== undefined && mode !== undefined && payment.mode !== mode;
    if (payment !== undefined && (isOfOther || isOfOtherMode)) found.add(payment.id);
  }
  return [...found];
}
