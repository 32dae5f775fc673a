import { ServiceError } from '../errors.ts';
import type { Engine, Space, Write } from '../storage/engine.ts';
import { accountName, type ChargeAccount } from './charge-account.ts';

/**
 * A store that was restored from a backup has forgotten the charges and idempotency keys that came after it, and would charge
 * them again. So it holds a record, and while that is shut, no charge and no refund is requested. Adoption reads the records of
 * every account, and opens it (`adoption/adopt.ts`). From then on only the accounts that were read may be charged.
 */
export interface Restored {
  /** When the snapshot was taken (RFC 3339): the processors may have charges since then that the store lacks. */
  readonly snapshotAt: string;
  readonly restoredAt: string;
  /** The name of the backup. */
  readonly backup: string;
  /** Names of the accounts whose records were read since the restore. */
  readonly read?: readonly string[];
  /** Names of the accounts that an operator gave up: payments opened without their records, and not for them. */
  readonly without?: readonly string[];
  /** When payments opened (RFC 3339). */
  readonly openedAt?: string;
}

const space: Space = 'service:restored';
const id = 'payments';

/** Shuts payments. What was read before no longer counts; while anything was not read, the older snapshot does. */
export async function shutPayments(engine: Engine, restored: Restored): Promise<void> {
  const earlier = await engine.get(space, id);
  const before = earlier === undefined ? undefined : (JSON.parse(earlier) as Restored);
  const value = JSON.stringify(before === undefined ? restored : shutAgain(before, restored));
  const failure = await engine.commit([
    earlier === undefined
      ? { kind: 'create', space, id, value, makeSpace: true }
      : { kind: 'replace', space, id, value, ifValue: earlier },
  ]);
  if (failure !== undefined) throw new Error(`payments could not be shut: ${failure.reason}`);
}

function shutAgain({ snapshotAt, backup, openedAt, without = [] }: Restored, restored: Restored): Restored {
  const isComplete = openedAt !== undefined && without.length === 0;
  if (isComplete || restored.snapshotAt < snapshotAt) return restored;
  return { ...restored, snapshotAt, backup };
}

/** The record of the last restore, whether payments have opened since or not; undefined for a store that never was restored. */
export async function restoreOf(engine: Pick<Engine, 'get'>): Promise<Restored | undefined> {
  const text = await engine.get(space, id);
  return text === undefined ? undefined : (JSON.parse(text) as Restored);
}

/** The record of a restore that shuts payments; undefined if they are open. */
export async function restoredOf(engine: Pick<Engine, 'get'>): Promise<Restored | undefined> {
  const restored = await restoreOf(engine);
  return restored?.openedAt === undefined ? restored : undefined;
}

/** Remembers accounts whose records were read to their end. Several processes may do so at once. */
export async function noteRead(engine: Engine, names: readonly string[]): Promise<void> {
  await change(engine, (before) => ({ ...before, read: [...new Set([...(before.read ?? []), ...names])] }));
}

/** Opens payments. @param audit the audit entry to commit with it */
export async function openPayments(
  engine: Engine,
  { without, at, audit }: { readonly without: readonly string[]; readonly at: string; readonly audit: Write },
): Promise<void> {
  const opened = (before: Restored) => ({
    ...before,
    without: [...(before.without ?? []), ...without].filter((name) => !before.read?.includes(name)),
    openedAt: before.openedAt ?? at,
  });
  await change(engine, opened, [audit]);
}

async function change(
  engine: Engine,
  changed: (before: Restored) => Restored,
  others: readonly Write[] = [],
): Promise<void> {
  for (;;) {
    const ifValue = await engine.get(space, id);
    if (ifValue === undefined) throw new Error('the record of the restore is gone');
    const value = JSON.stringify(changed(JSON.parse(ifValue) as Restored));
    const failure = await engine.commit([{ kind: 'replace', space, id, value, ifValue }, ...others]);
    if (failure === undefined) return;
    if (failure.reason !== 'differs') throw new Error(`payments could not be opened: ${failure.reason}`);
  }
}

/** Whether payments are shut, for many requests. */
export class PaymentsOpen {
  readonly #engine: Pick<Engine, 'get'>;
  /**
   * `undefined`: not known to be open. Else the restore after which they opened, if there was one. A store is restored only
   * while no process has it open, so that what is open stays open.
   */
  #opened: { readonly restored: Restored | undefined } | undefined;

  constructor(engine: Pick<Engine, 'get'>) {
    this.#engine = engine;
  }

  async isOpen(): Promise<boolean> {
    return this.#opened !== undefined || (await this.#look());
  }

  /** Throws `reconcile_required` while payments are shut. */
  async check(): Promise<void> {
    if (this.#opened === undefined && !(await this.#look())) throw new ServiceError('reconcile_required');
  }

  /**
   * Throws `reconcile_required` while payments are shut, or shut for this account: its records were not read after a restore.
   *
   * @param account read only if the store was restored
   */
  async checkFor(account: () => Promise<ChargeAccount>): Promise<void> {
    await this.check();
    if (this.#opened?.restored === undefined) return;
    const name = accountName(await account());
    const isRead = () => this.#opened?.restored?.read?.includes(name) ?? false;
    // Another process may have read it since.
    if (isRead() || ((await this.#look()) && isRead())) return;
    throw new ServiceError('reconcile_required', {
      message:
        'The store was restored from a backup, and the records of this processor account were not read since. ' +
        'No money was moved by this request.',
      detail: `payments are shut for ${name}: run counterfoil payments reconcile --adopt with its key`,
    });
  }

  async #look(): Promise<boolean> {
    const restored = await restoreOf(this.#engine);
    if (restored !== undefined && restored.openedAt === undefined) return false;
    this.#opened = { restored };
    return true;
  }
}
