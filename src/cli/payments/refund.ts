import { randomUUID } from 'node:crypto';
import { audited } from '../../audit/audit.ts';
import type { PublicError } from '../../errors.ts';
import type { PaymentContext } from '../../payments/context.ts';
import { writtenAmount } from '../../payments/currencies.ts';
import { refundPayment } from '../../payments/refund/create.ts';
import type { publicRefund, RefundResponse } from '../../payments/refund/response.ts';
import type { JsonOption } from '../command.ts';
import { printResult } from '../output/print.ts';
import { WorkFailed } from '../problems.ts';
import { paymentOf, withPayments } from './open.ts';

export interface RefundOptions extends JsonOption {
  /** In the unit of the route. */
  readonly amount?: number;
  readonly key?: string;
}

/** `counterfoil payments refund`: exits with 1 if the refund failed, or its outcome is unknown. */
export async function refund(id: string, { json, ...options }: RefundOptions): Promise<void> {
  const response = await withPayments((context) => request(context, id, options));
  const { body } = JSON.parse(response.text) as {
    body: ReturnType<typeof publicRefund> & { error?: PublicError };
  };
  if (body.error !== undefined) throw new WorkFailed(body.error.code, body.error.message);
  const { refund_id, amount, currency, status } = body;
  printResult(json, body, `Refund ${refund_id} of ${writtenAmount(amount, currency)} for ${id}: ${status}`);
}

async function request(
  context: PaymentContext,
  id: string,
  { amount, key }: RefundOptions,
): Promise<RefundResponse> {
  const { processor, route } = await paymentOf(context, id);
  const requestId = randomUUID();
  return refundPayment(context, {
    ...{ processor, route, paymentId: id, amount, idempotencyKey: key, caller: 'cli', requestId },
    audit: (refund) => audited({ what: 'payment.refunded', on: id, refund, by: 'cli', requestId }),
  });
}
