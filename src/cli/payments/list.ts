import { writtenAmount } from '../../currencies.ts';
import { paymentsPeriodMsDefault } from '../../payments/limits.ts';
import { type Payments, publicPayment } from '../../payments/payments.ts';
import type { Payment } from '../../payments/types.ts';
import type { JsonOption } from '../command.ts';
import { hint, printListing } from '../output/print.ts';
import type { Style } from '../output/style.ts';
import type { Column } from '../output/table.ts';
import { withPayments } from './open.ts';

export interface ListOptions extends JsonOption {
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
