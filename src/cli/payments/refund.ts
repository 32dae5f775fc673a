import { randomUUID } from 'node:crypto';
import { audited } from '../../audit/audit.ts';
import { writtenAmount } from '../../currencies.ts';
import type { PublicError } from '../../errors.ts';
import type { Payments } from '../../payments/payments.ts';
import type { PublicRefund, RefundResponse } from '../../payments/types.ts';
import type { JsonOption } from '../command.ts';
import { printResult } from '../output/print.ts';
import { WorkFailed } from '../problems.ts';
import { withPayments } from './open.ts';

export interface RefundOptions extends JsonOption {
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
