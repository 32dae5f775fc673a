import { randomUUID } from 'node:crypto';
import { audited } from '../../audit/audit.ts';
import { cancelPayment } from '../../payments/charge/cancel.ts';
import { publicPayment } from '../../payments/public-payment.ts';
import type { JsonOption } from '../command.ts';
import { printResult } from '../output/print.ts';
import { paymentOf, withPayments } from './open.ts';

/** `counterfoil payments cancel`: exits with 1 if the payment is not declined in the end. */
export async function cancel(id: string, { json }: JsonOption): Promise<void> {
  const after = await withPayments(async (context) => {
    const payment = await paymentOf(context, id);
    const audit = audited({ what: 'payment.canceled', on: id, by: 'cli', requestId: randomUUID() });
    return cancelPayment(context, payment, audit);
  });
  printResult(json, publicPayment(after), `${id} is ${after.state}`);
  if (after.state !== 'declined') process.exitCode = 1;
}
