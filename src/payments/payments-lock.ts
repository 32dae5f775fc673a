import { ServiceError } from '../errors.ts';
import type { Engine, Write } from '../storage/engine.ts';
import { Records } from '../storage/records.ts';
import { accountName, type ChargeAccount } from './accounts.ts';

/** The last restore of a store. While it has no `openedAt`, payments are shut. */
export interface Restored {
  /** When the snapshot was taken (RFC 3339). The store may lack charges that were made after this time. */
  readonly snapshotAt: string;
  readonly restoredAt: string;
  /** The name of the backup. */
  readonly backup: string;
  /** Names of the accounts whose records were read since the restore. */
  readonly read?: readonly string[];
  /**
   * Names of the accounts that an operator gave up. Payments opened without their records, and stay shut for these
   * accounts.
   */
  readonly without?: readonly string[];
  /** When payments opened (RFC 3339). */
  readonly openedAt?: string;
}

const id = 'payments';

/**
 * Shuts payments after a restore. A store that was restored from a backup lacks the later charges and idempotency keys,
 * so repeated requests would be charged again. While payments are shut, no charge and no refund is requested. Adoption
 * reads the records of every account and opens payments (`adoption/adopt.ts`). From then on, only accounts whose
 * records were read may be charged.
 */
export class PaymentsLock {
  readonly #restores: Records<Restored>;
  /**
   * Undefined until payments are known to be open; then the restore after which they opened, if there was one. It never
   * expires, because a store is restored only while no process has it open.
   */
  #opened: { readonly restored: Restored | undefined } | undefined;

  constructor(engine: Engine) {
    this.#restores = new Records(engine, 'restored');
  }

  /**
   * Shuts payments. If they are already shut, the older snapshot stays, and the list of accounts that were read is
   * cleared.
   */
  async shut(restored: Restored): Promise<void> {
    await this.#restores.change(id, (before) => ({
      value: before === undefined ? restored : shutAgain(before, restored),
    }));
  }

  /** The last restore; undefined if the store was never restored. */
  restored(): Promise<Restored | undefined> {
    return this.#restores.get(id);
  }

  /** The restore that keeps payments shut; undefined if they are open. Reads the store each time. */
  async shutBy(): Promise<Restored | undefined> {
    const restored = await this.restored();
    return restored?.openedAt === undefined ? restored : undefined;
  }

  async isOpen(): Promise<boolean> {
    return this.#opened !== undefined || (await this.#look());
  }

  /** Throws `reconcile_required` while payments are shut. */
  async check(): Promise<void> {
    if (this.#opened === undefined && !(await this.#look())) throw new ServiceError('reconcile_required');
  }

  /**
   * Throws `reconcile_required` while payments are shut, or if the records of this account were not read after the
   * restore.
   *
   * @param account called only if the store was restored
   */
  async checkFor(account: () => Promise<ChargeAccount>): Promise<void> {
    await this.check();
    if (this.#opened?.restored === undefined) return;
    const name = accountName(await account());
    const isRead = () => this.#opened?.restored?.read?.includes(name) ?? false;
    // Another process may have read the records since.
    if (isRead() || ((await this.#look()) && isRead())) return;
    throw new ServiceError('reconcile_required', {
      message:
        'The store was restored from a backup, and the records of this processor account were not read since. ' +
        'No money was moved by this request.',
      detail: `payments are shut for ${name}: run counterfoil payments reconcile --adopt with its key`,
    });
  }

  /** Stores the names of accounts whose records were read to their end. Several processes may do so at once. */
  async noteRead(names: readonly string[]): Promise<void> {
    await this.#change((before) => ({ ...before, read: [...new Set([...(before.read ?? []), ...names])] }));
  }

  /** Opens payments. @param audit the audit entry to commit with it */
  async open({
    without,
    at,
    audit,
  }: {
    without: readonly string[];
    at: string;
    audit: Write;
  }): Promise<void> {
    const opened = (before: Restored) => ({
      ...before,
      without: [...(before.without ?? []), ...without].filter((name) => !before.read?.includes(name)),
      openedAt: before.openedAt ?? at,
    });
    await this.#change(opened, [audit]);
  }

  async #change(changed: (before: Restored) => Restored, also: readonly Write[] = []): Promise<void> {
    await this.#restores.change(id, (before) => {
      if (before === undefined) throw new Error('the record of the restore is gone');
      return { value: changed(before), also };
    });
  }

  async #look(): Promise<boolean> {
    const restored = await this.restored();
    if (restored !== undefined && restored.openedAt === undefined) return false;
    this.#opened = { restored };
    return true;
  }
}

function shutAgain({ snapshotAt, backup, openedAt, without = [] }: Restored, restored: Restored): Restored {
  const isComplete = openedAt !== undefined && without.length === 0;
  if (isComplete || restored.snapshotAt < snapshotAt) return restored;
  return { ...restored, snapshotAt, backup };
}
