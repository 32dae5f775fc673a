import { randomUUID } from 'node:crypto';
import { audited } from '../../audit/audit.ts';
import { publicPayment } from '../../payments/payments.ts';
import type { JsonOption } from '../command.ts';
import { printResult } from '../output/print.ts';
import { withPayments } from './open.ts';

/** `counterfoil payments cancel`: exits with 1 if the payment is not declined in the end. */
export async function cancel(id: string, { json }: JsonOption): Promise<void> {
  const audit = audited({ what: 'payment.canceled', on: id, by: 'cli', requestId: randomUUID() });
  const after = await withPayments((payments) => payments.cancel(id, audit));
  printResult(json, publicPayment(after), `${id} is ${after.state}`);
  if (after.state !== 'declined') process.exitCode = 1;
}
