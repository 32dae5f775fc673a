import { PaymentsLock } from '../../payments/payments.ts';
import { type Recovered, recoverStore } from '../adapters.ts';

export interface RecoveredData extends Recovered {
  /** Payments are shut when some of them may be lost: a request would charge again what the store has forgotten. */
  readonly arePaymentsShut: boolean;
}

/**
 * Saves what can be read of the store in a data folder into a new one in an empty folder. Throws as `recoverStore` does.
 *
 * @param progress called with the items saved so far, and how many there were
 */
export async function recoverData(
  from: string,
  to: string,
  progress: (items: number, total: number) => void,
): Promise<RecoveredData> {
  let arePaymentsShut = false;
  const recovered = await recoverStore(from, to, {
    progress,
    prepare: async (engine, found) => {
      arePaymentsShut = mayLackPayments(found);
      const now = new Date().toISOString();
      if (arePaymentsShut)
        await new PaymentsLock(engine).shut({ snapshotAt: now, restoredAt: now, backup: 'recover' });
    },
  });
  return { ...recovered, arePaymentsShut };
}

function mayLackPayments({ problems, spaces }: Recovered): boolean {
  const isLacking = spaces.some(
    ({ space, items, expected }) => space.startsWith('service:') && items !== expected,
  );
  return problems.length > 0 || isLacking;
}
