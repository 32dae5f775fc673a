import { ServiceError } from '../errors.ts';
import type { Engine, Space, Write } from '../storage/engine.ts';

/**
 * A store that was restored from a backup has forgotten the charges and idempotency keys that came after it, and would charge
 * them again. So it holds a record, and while it does, no charge and no refund is requested. `adoptCharges` and then
 * `reconciled` end this.
 */
export interface Restored {
  /** When the snapshot was taken (RFC 3339): the processors may have charges since then that the store lacks. */
  readonly snapshotAt: string;
  readonly restoredAt: string;
  /** The name of the backup. */
  readonly backup: string;
}

const space: Space = 'service:restored';
const id = 'payments';

/** Shuts payments. Also for a store that was restored before and not reconciled: then the older snapshot counts. */
export async function shutPayments(engine: Engine, restored: Restored): Promise<void> {
  const earlier = await engine.get(space, id);
  const before = earlier === undefined ? undefined : (JSON.parse(earlier) as Restored);
  if (before !== undefined && before.snapshotAt <= restored.snapshotAt) return;
  const value = JSON.stringify(restored);
  const failure = await engine.commit([
    earlier === undefined
      ? { kind: 'create', space, id, value, makeSpace: true }
      : { kind: 'replace', space, id, value, ifValue: earlier },
  ]);
  if (failure !== undefined) throw new Error(`payments could not be shut: ${failure.reason}`);
}

/** The record of a restore that was not reconciled yet; undefined if payments are open. */
export async function restoredOf(engine: Engine): Promise<Restored | undefined> {
  const text = await engine.get(space, id);
  return text === undefined ? undefined : (JSON.parse(text) as Restored);
}

/** Opens payments. @param audit the audit entry to commit with it */
export async function reconciled(engine: Engine, audit: Write): Promise<void> {
  const failure = await engine.commit([{ kind: 'delete', space, id }, audit]);
  if (failure !== undefined && failure.reason !== 'missing')
    throw new Error(`payments could not be opened: ${failure.reason}`);
}

/** Whether payments are shut, for many requests. */
export class PaymentsOpen {
  readonly #engine: Engine;
  /** A store is restored only while no process has it open, so that open payments stay open. */
  #isOpen = false;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  async isOpen(): Promise<boolean> {
    this.#isOpen ||= (await restoredOf(this.#engine)) === undefined;
    return this.#isOpen;
  }

  /** Throws `reconcile_required` while payments are shut. */
  async check(): Promise<void> {
    if (!this.#isOpen && !(await this.isOpen())) throw new ServiceError('reconcile_required');
  }
}
