import { findProcessor } from '../../payments/context.ts';
import { type Difference, reconcile } from '../../payments/reconcile.ts';
import type { JsonOption } from '../command.ts';
import { paymentsPeriodMsDefault } from '../limits.ts';
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
  const { payments, charges, others, differences } = await withPayments(async (context) => {
    const processor = findProcessor(context, name);
    return reconcile(context, processor, { from, until }).catch((error: unknown) => {
      const reason = (error as Error).name;
      throw new WorkFailed('records_unreadable', `the records of ${name} cannot be read (${reason})`);
    });
  });
  const counts = `${payments} payments here, ${charges} charges there (and ${others} that are not ours)`;
  const verdict = differences.length === 0 ? 'no difference' : `${differences.length} differences`;
  printResult(json, { payments, charges, others, differences: differences.map(toJson) }, [
    ...differences.map(sentenceOf),
    `${counts}: ${verdict}`,
  ]);
  if (differences.length > 0) process.exitCode = 1;
}

function toJson({ paymentId, chargeId, what }: Difference): object {
  return { payment_id: paymentId ?? null, charge_id: chargeId ?? null, difference: what };
}

function sentenceOf({ paymentId, chargeId, what }: Difference): string {
  return `${paymentId ?? 'a payment'}${chargeId === undefined ? '' : ` (${chargeId})`} ${what}`;
}
