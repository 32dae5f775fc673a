import { paymentsPeriodMsDefault } from '../../payments/limits.ts';
import { publicDifference } from '../../payments/payments.ts';
import type { Difference } from '../../payments/types.ts';
import type { JsonOption } from '../command.ts';
import { printResult } from '../output/print.ts';
import { UsageError, WorkFailed } from '../problems.ts';
import { withPayments } from './open.ts';

export interface ReconcileOptions extends JsonOption {
  /** Milliseconds since 1970. */
  readonly from?: number;
  readonly until?: number;
}

/** `counterfoil payments reconcile`: exits with 1 if anything differs. */
export async function reconcileWith(
  name: string | undefined,
  { json, until = Date.now(), from = until - paymentsPeriodMsDefault }: ReconcileOptions,
): Promise<void> {
  if (name === undefined) throw new UsageError('payments reconcile: name a processor, or give --adopt');
  if (from >= until) throw new UsageError('--from: must be before --until');
  const { payments, charges, others, differences } = await withPayments(async (domain) => {
    const comparison = domain.compare(name, { from, until });
    try {
      const differences = await Array.fromAsync(comparison.differences());
      const { payments, charges, others } = comparison;
      return { payments, charges, others, differences };
    } catch (error) {
      const reason = (error as Error).name;
      throw new WorkFailed('records_unreadable', `the records of ${name} cannot be read (${reason})`);
    }
  });
  const counts = `${payments} payments here, ${charges} charges there (and ${others} that are not ours)`;
  const verdict = differences.length === 0 ? 'no difference' : `${differences.length} differences`;
  printResult(json, { payments, charges, others, differences: differences.map(publicDifference) }, [
    ...differences.map(sentenceOf),
    `${counts}: ${verdict}`,
  ]);
  if (differences.length > 0) process.exitCode = 1;
}

function sentenceOf({ paymentId, chargeId, what }: Difference): string {
  return `${paymentId ?? 'a payment'}${chargeId === undefined ? '' : ` (${chargeId})`} ${what}`;
}
