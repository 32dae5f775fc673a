import { ServiceError } from '../errors.ts';
import type { ProcessorAccount } from '../processors/processor.ts';
import type { Engine } from '../storage/engine.ts';
import { itemsOf } from '../storage/item-text.ts';
import { processorCheckMsMax } from './limits.ts';
import { idsOf, type OpenMarker, openSpace } from './ownership/marker.ts';
import type { Payment } from './payment.ts';
import { findPayment } from './payment-store.ts';

/** The account that a processor's key belongs to. `id` is undefined if the key may not read the account. */
type Seen =
  | { readonly isKnown: true; readonly id: string | undefined }
  | { readonly isKnown: false; readonly detail: string };

/**
 * The accounts that the configured keys belong to. Each is read once: a key never changes its account, and another key
 * needs a restart.
 */
export class Accounts {
  readonly #known = new Map<ProcessorAccount, Seen>();
  readonly #reading = new Map<ProcessorAccount, Promise<Seen>>();

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
    const seen: Seen = { isKnown: true, id: account.kind === 'account' ? account.id : undefined };
    this.#known.set(processor, seen);
    return seen;
  }

  /** For a new payment. Throws `processor_error` if the account cannot be read: the charge would fail too. */
  async required(processor: ProcessorAccount): Promise<string | undefined> {
    const seen = await this.of(processor);
    if (!seen.isKnown) throw new ServiceError('processor_error', { detail: seen.detail });
    return seen.id;
  }

  /** Whether the payment belongs to another account than the configured key. */
  async differs({ account }: Payment, processor: ProcessorAccount): Promise<'no' | 'yes' | 'unknown'> {
    if (account === undefined) return 'no';
    const seen = await this.of(processor);
    if (!seen.isKnown || seen.id === undefined) return 'unknown';
    return seen.id === account ? 'no' : 'yes';
  }

  /** Throws `unavailable` if the payment belongs to another account than the configured key, or that is unknown. */
  async checkSame(payment: Payment, processor: ProcessorAccount): Promise<void> {
    const differs = await this.differs(payment, processor);
    if (differs === 'no') return;
    const message =
      differs === 'yes'
        ? 'This payment belongs to another processor account than the configured key; nothing was done. ' +
          'Configure that account’s key.'
        : 'The processor account of this payment cannot be checked now; nothing was done.';
    throw new ServiceError('unavailable', { message, retryable: differs === 'unknown' });
  }
}

/** Ids of open payments that belong to another account of a processor. */
export async function openOfOtherAccounts(
  engine: Engine,
  processor: string,
  account: string,
): Promise<readonly string[]> {
  const found = new Set<string>();
  const scan = await engine.scan(openSpace);
  for await (const { id, name } of itemsOf(scan?.chunks ?? [])) {
    const marker = JSON.parse(name) as OpenMarker;
    if (marker.processor !== processor) continue;
    const payment = await findPayment({ engine }, idsOf(id).paymentId);
    if (payment?.account !== undefined && payment.account !== account) found.add(payment.id);
  }
  return [...found];
}
