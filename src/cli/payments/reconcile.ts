import { audited } from '../../audit/audit.ts';
import { paymentsPeriodMsDefault } from '../../payments/limits.ts';
import { publicDifference } from '../../payments/payments.ts';
import type { Adopted, Adoption, Difference, Payment } from '../../payments/types.ts';
import type { JsonOption } from '../command.ts';
import { printResult } from '../output/print.ts';
import { UsageError, WorkFailed } from '../problems.ts';
import { withPayments } from './actions.ts';

interface ReconcileOptions extends JsonOption {
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
    ...differences.map(differenceLine),
    `${counts}: ${verdict}`,
  ]);
  if (differences.length > 0) process.exitCode = 1;
}

function differenceLine({ paymentId, chargeId, what }: Difference): string {
  return `${paymentId ?? 'a payment'}${chargeId === undefined ? '' : ` (${chargeId})`} ${what}`;
}

interface AdoptOptions extends JsonOption {
  /** Milliseconds since 1970. */
  readonly from?: number;
  readonly until?: number;
  readonly acceptUnknownKeys?: boolean;
  readonly newAccount?: readonly string[];
  readonly withoutAccount?: readonly string[];
  readonly withoutProcessors?: boolean;
}

/** `counterfoil payments reconcile --adopt`: exits with 1 if payments stay shut, after it has printed what it has adopted. */
export async function adopt(
  name: string | undefined,
  {
    json,
    from,
    until,
    acceptUnknownKeys = false,
    newAccount: newAccounts = [],
    withoutAccount: withoutAccounts = [],
    withoutProcessors = false,
  }: AdoptOptions,
): Promise<void> {
  if (name !== undefined || until !== undefined)
    throw new UsageError('payments reconcile: --adopt looks at every processor until now; leave out both');
  const options = { from, acceptUnknownKeys, newAccounts, withoutAccounts, withoutProcessors };
  const audit = (on: string) => audited({ what: 'payments.reconciled', on, by: 'cli' });
  const adoption = await withPayments((payments) => payments.adopt({ ...options, audit }));
  printResult(json, toJson(adoption), adoptionLines(adoption));
  const { rejection } = adoption;
  if (rejection !== undefined) throw new WorkFailed(rejection.code, rejection.message);
}

function adoptionLines(adoption: Adoption): readonly string[] {
  const { restored, accounts, adopted, attempts, withoutItem } = adoption;
  if (restored === undefined) return ['payments were open; nothing was done'];
  const looked = accounts.length === 0 ? 'no records were read' : `looked at ${accounts.join(', ')}`;
  return [
    ...adopted.map(adoptedLine),
    ...attempts.map(
      (payment) => `${payment.id} (${attemptId(payment)}) was waiting for its cardholder: ${payment.state}`,
    ),
    ...withoutItem.map(
      ({ payment, problem }) => `${payment.id} (${payment.chargeId}) has no item: ${problems[problem]}`,
    ),
    `${looked}: ${adopted.length} adopted; payments ${isOpen(adoption) ? 'are open' : 'stay shut'}`,
  ];
}

function adoptedLine({ paymentId, chargeId, what, amount, currency, item }: Adopted): string {
  const made = item === undefined ? [] : [`with its item in ${item.table}: ${item.id ?? chargeId}`];
  return [paymentId, `(${chargeId})`, `adopted: ${what},`, amount, currency, ...made].join(' ');
}

function attemptId({ authentication }: Payment): string {
  return authentication?.attemptId ?? '';
}

const problems: Readonly<Record<Adoption['withoutItem'][number]['problem'], string>> = {
  route_unknown: "the processor's records do not name its route",
  route_gone: 'its route is not in the settings',
  metadata_missing: "the processor's records lack the metadata that names it",
  item_not_allowed: 'the settings do not allow it',
  item_held: 'another payment held it',
  item_exists: 'the table has one with its id',
};

function isOpen({ restored, rejection }: Adoption): boolean {
  return rejection === undefined || restored?.openedAt !== undefined;
}

function toJson(adoption: Adoption): object {
  const { restored, accounts, adopted, attempts, withoutItem } = adoption;
  return {
    were_shut: restored !== undefined && restored.openedAt === undefined,
    are_open: isOpen(adoption),
    accounts,
    adopted: adopted.map(({ paymentId, chargeId, what, amount, currency, item }) => ({
      payment_id: paymentId,
      charge_id: chargeId,
      what,
      amount,
      currency,
      item: item === undefined ? null : { table: item.table, id: item.id ?? chargeId },
    })),
    attempts: attempts.map((payment) => ({
      payment_id: payment.id,
      attempt_id: attemptId(payment),
      status: payment.state,
      amount: payment.amount,
      currency: payment.currency,
    })),
    without_item: withoutItem.map(({ payment, problem }) => ({
      payment_id: payment.id,
      charge_id: payment.chargeId ?? null,
      route: payment.route,
      amount: payment.amount,
      currency: payment.currency,
      metadata: payment.metadata ?? {},
      reason: problem,
    })),
  };
}
