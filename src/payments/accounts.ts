import { defined } from '../defined.ts';
import { ServiceError } from '../errors.ts';
import type { Mode, ProcessorAccount } from '../processors/processor.ts';
import type { Engine, Space, Write } from '../storage/engine.ts';
import { Records } from '../storage/records.ts';
import { processorCheckMsMax } from './limits.ts';
import { openMarkers, parseOpenId } from './ownership/marker.ts';
import type { Payment } from './payment.ts';
import { findPayment } from './payment-store.ts';

/** An account at a processor, in one mode. A charge appears only in the records of its own account. */
export interface ChargeAccount {
  readonly processor: string;
  /** The processor's id of the account. Absent if the processor's key may not read it. */
  readonly account?: string;
  /** Absent if the key does not show it, and for payments of earlier versions. */
  readonly mode?: Mode;
}

/**
 * Holds one item for each account that the store has ever charged with; its id is the account's name. Manifests of
 * backups list these accounts.
 */
const chargeAccountsSpace: Space = 'service:charge-accounts';

/** The name by which operators know an account: `stripe/acct_1/live`. */
export function accountName({ processor, account, mode }: ChargeAccount): string {
  return [processor, account ?? 'unknown', mode ?? 'unknown'].join('/');
}

/** Picks the account from a payment, or from an object with further fields. */
export function pickAccount({ processor, account, mode }: ChargeAccount): ChargeAccount {
  return {
    processor,
    ...defined({ account, mode }),
  };
}

/**
 * The write that records an account. Commit it with the account's first charge, so that every backup with the charge
 * has the account too. The engine never rejects it.
 */
export function noteAccount(account: ChargeAccount): Write {
  const value = JSON.stringify(pickAccount(account));
  return { kind: 'put', space: chargeAccountsSpace, id: accountName(account), value, makeSpace: true };
}

/** The accounts that the store has recorded; none in a store of an earlier version. */
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

  /**
   * The account of a new payment. Throws `processor_error` if the account cannot be read, because the charge would fail
   * too.
   */
  async required(processor: ProcessorAccount): Promise<ChargeAccount> {
    const seen = await this.of(processor);
    if (!seen.isKnown) throw new ServiceError('processor_error', { detail: seen.detail });
    const { id: account, mode } = seen;
    return {
      processor: processor.name,
      ...defined({ account, mode }),
    };
  }

  /** The write that records the account with its first charge; none once the account is recorded. */
  async noting(account: ChargeAccount): Promise<Write[]> {
    const name = accountName(account);
    if (this.#noted.has(name)) return [];
    if ((await this.#engine.get(chargeAccountsSpace, name)) === undefined) return [noteAccount(account)];
    this.#noted.add(name);
    return [];
  }

  /** Whether the payment belongs to another account or mode than the configured key. */
  async differs({ account, mode }: Payment, processor: ProcessorAccount): Promise<'no' | 'yes' | 'unknown'> {
    if (account === undefined && mode === undefined) return 'no';
    const seen = await this.of(processor);
    if (!seen.isKnown) return 'unknown';
    if (mode !== undefined && seen.mode !== undefined && seen.mode !== mode) return 'yes';
    if (account === undefined) return 'no';
    if (seen.id === undefined) return 'unknown';
    return seen.id === account ? 'no' : 'yes';
  }

  /** Throws `unavailable` if the payment belongs to another account than the configured key, or if this is unknown. */
  async checkSame(payment: Payment, processor: ProcessorAccount): Promise<void> {
    const differs = await this.differs(payment, processor);
    if (differs === 'no') return;
    const message =
      differs === 'yes'
        ? 'This payment belongs to another processor account or mode than the configured key; ' +
          'nothing was done. Configure the key that made it.'
        : 'The processor account of this payment cannot be checked now; nothing was done.';
    throw new ServiceError('unavailable', { message, retryable: differs === 'unknown' });
  }
}

/** Ids of open payments that belong to another account of the processor, or to another mode. */
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
