import { writtenAmount } from '../../currencies.ts';
import { publicPayment } from '../../payments/payments.ts';
import type { JsonOption } from '../command.ts';
import { printFields } from '../output/print.ts';
import { withPayments } from './open.ts';

type PublicPayment = ReturnType<typeof publicPayment>;

/** `counterfoil payments show`. */
export async function show(id: string, { json }: JsonOption): Promise<void> {
  const payment = publicPayment(await withPayments((payments) => payments.stored(id)));
  printFields(json, payment, fieldsOf(payment));
}

function fieldsOf(payment: PublicPayment): [name: string, value: string | undefined][] {
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
