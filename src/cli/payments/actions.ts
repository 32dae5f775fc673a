import { randomUUID } from 'node:crypto';
import { openOfflinePayments } from '../../app/offline.ts';
import { audited } from '../../audit/audit.ts';
import { writtenAmount } from '../../currencies.ts';
import type { PublicError } from '../../envelope.ts';
import { paymentsPeriodMsDefault } from '../../payments/limits.ts';
import { type Payments, publicPayment } from '../../payments/payments.ts';
import type { Payment, PublicRefund, RefundResponse, Resolution } from '../../payments/types.ts';
import { type JsonOption, withOpened } from '../command.ts';
import { hint, printFields, printListing, printResult } from '../output/print.ts';
import type { Column } from '../output/table.ts';
import type { Style } from '../output/terminal-text.ts';
import { UsageError, WorkFailed } from '../problems.ts';

interface ListOptions extends JsonOption {
  /** Milliseconds since 1970. */
  readonly since?: number;
  readonly status?: string;
  readonly processor?: string;
  readonly limit: number;
}

const styles: Readonly<Record<string, Style>> = {
  succeeded: 'green',
  declined: 'dim',
  needs_review: 'red',
  in_doubt: 'yellow',
  requires_action: 'yellow',
  calling: 'yellow',
};

const columns: readonly Column<Payment>[] = [
  { title: 'PAYMENT', cell: ({ id }) => id },
  { title: 'CREATED', cell: ({ createdAt }) => createdAt },
  { title: 'ROUTE', cell: ({ processor, route }) => `${processor}/${route}` },
  { title: 'STATUS', cell: ({ state }) => state, style: ({ state }) => styles[state] },
  { title: 'AMOUNT', cell: ({ amount, currency }) => writtenAmount(amount, currency), align: 'right' },
  { title: 'CHARGE', cell: ({ chargeId }) => chargeId },
];

/** `counterfoil payments list`. */
export async function list({ json, ...options }: ListOptions): Promise<void> {
  let next: Payment | undefined;
  const noteNext = (payment: Payment) => {
    next = payment;
  };
  await withPayments((payments) =>
    printListing(found(payments, options, noteNext), {
      ...{ json, columns, none: 'No payments.' },
      toJson: publicPayment,
    }),
  );
  if (next !== undefined) hint(`There are more: --since ${next.createdAt}`);
}

/** @param noteNext called with the first payment beyond the limit */
async function* found(
  payments: Payments,
  { since = Date.now() - paymentsPeriodMsDefault, status, processor, limit }: ListOptions,
  noteNext: (payment: Payment) => void,
): AsyncGenerator<Payment> {
  let left = limit;
  for await (const payment of payments.since(since)) {
    if (status !== undefined && payment.state !== status) continue;
    if (processor !== undefined && payment.processor !== processor) continue;
    if (left-- === 0) return noteNext(payment);
    yield payment;
  }
}

type PublicPayment = ReturnType<typeof publicPayment>;

/** `counterfoil payments show`. */
export async function show(id: string, { json }: JsonOption): Promise<void> {
  const payment = publicPayment(await withPayments((payments) => payments.stored(id)));
  printFields(json, payment, paymentFields(payment));
}

function paymentFields(payment: PublicPayment): [name: string, value: string | undefined][] {
  const { currency, item } = payment;
  const money = (amount: number) => writtenAmount(amount, currency);
  return [
    ['payment', payment.id],
    ['status', payment.status],
    ['processor', payment.processor],
    ['amount', money(payment.amount)],
    ['charge', payment.charge_id ?? undefined],
    ['decline code', payment.decline_code ?? undefined],
    ['created', payment.created_at],
    ...Object.entries(payment.metadata).map(([key, value]): [string, string] => [`metadata ${key}`, value]),
    ['item', item === null ? undefined : `${item.table}/${item.id ?? '–'} ${item.status}`],
    ['refunded', payment.amount_refunded === 0 ? undefined : money(payment.amount_refunded)],
    ...payment.refunds.map(({ refund_id, amount, status, created_at }): [string, string] => [
      'refund',
      `${refund_id} ${money(amount)} ${status} ${created_at}`,
    ]),
    ...payment.disputes.map(({ id, amount, status, reason }): [string, string] => [
      'dispute',
      `${id} ${money(amount)} ${status} ${reason}`,
    ]),
  ];
}

interface RefundOptions extends JsonOption {
  /** In the unit of the route. */
  readonly amount?: number;
  readonly key?: string;
}

/** `counterfoil payments refund`: exits with 1 if the refund failed, or its outcome is unknown. */
export async function refund(id: string, { json, ...options }: RefundOptions): Promise<void> {
  const response = await withPayments((payments) => request(payments, id, options));
  const { body } = JSON.parse(response.text) as {
    body: PublicRefund & { error?: PublicError };
  };
  if (body.error !== undefined) throw new WorkFailed(body.error.code, body.error.message);
  const { refund_id, amount, currency, status } = body;
  printResult(json, body, `Refund ${refund_id} of ${writtenAmount(amount, currency)} for ${id}: ${status}`);
}

async function request(
  payments: Payments,
  id: string,
  { amount, key }: RefundOptions,
): Promise<RefundResponse> {
  const { processor, route } = await payments.stored(id);
  const requestId = randomUUID();
  return payments.refund({
    ...{ processor, route, paymentId: id, amount, idempotencyKey: key, caller: 'cli', requestId },
    audit: (refund) => audited({ what: 'payment.refunded', on: id, refund, by: 'cli', requestId }),
  });
}

/** `counterfoil payments cancel`: exits with 1 if the payment is not declined in the end. */
export async function cancel(id: string, { json }: JsonOption): Promise<void> {
  const audit = audited({ what: 'payment.canceled', on: id, by: 'cli', requestId: randomUUID() });
  const after = await withPayments((payments) => payments.cancel(id, audit));
  printResult(json, publicPayment(after), `${id} is ${after.state}`);
  if (after.state !== 'declined') process.exitCode = 1;
}

interface ResolveOptions extends JsonOption {
  /** The charge id. */
  readonly succeeded?: string;
  readonly declined?: boolean;
}

/** `counterfoil payments resolve`. */
export async function resolve(id: string, { json, ...options }: ResolveOptions): Promise<void> {
  const resolution = parseResolution(options);
  const audit = audited({ what: 'payment.resolved', on: id, by: 'cli', requestId: randomUUID() });
  const after = await withPayments((payments) => payments.resolve(id, resolution, audit));
  printResult(json, publicPayment(after), `${id} is ${after.state}`);
}

function parseResolution({ succeeded: chargeId, declined = false }: ResolveOptions): Resolution {
  if ((chargeId !== undefined) === declined)
    throw new UsageError('payments resolve: needs either --succeeded <charge> or --declined');
  return chargeId === undefined ? { state: 'declined' } : { state: 'succeeded', chargeId };
}

/** Opens the payments of the settings for the work of a command. Throws SettingsError. */
export function withPayments<Result>(work: (payments: Payments) => Promise<Result>): Promise<Result> {
  return withOpened(openOfflinePayments, ({ payments }) => work(payments));
}
