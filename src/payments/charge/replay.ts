import { ServiceError } from '../../errors.ts';
import type { Trace } from '../../tracing.ts';
import type { PaymentContext } from '../context.ts';
import { wantedStepMs } from '../limits.ts';
import type { Payment } from '../payment.ts';
import { changePayment, findPayment } from '../payment-store.ts';
import { isWanted } from './execute.ts';
import { type CheckedChargeRequest, differingField, type UncheckedChargeRequest } from './request.ts';
import { currentResponse, type PaymentResponse } from './response.ts';
import { waitForFirst } from './wait-for-first.ts';

/** Returns the first request's response to a repeated request; waits while the first is running. */
export async function replay(
  context: Pick<PaymentContext, 'engine' | 'wantedMs' | 'now' | 'sealer'>,
  earlier: Payment,
  request: CheckedChargeRequest,
  trace: Trace,
): Promise<PaymentResponse> {
  trace.set({ payment_id: earlier.id, outcome: 'replayed' });
  const field = differingField(earlier, request);
  if (field !== undefined) {
    throw new ServiceError('idempotency_key_reused', {
      param: field,
      message: `This idempotency key was used before with another ${field}; nothing was charged.`,
    });
  }
  await wantLonger(context, earlier);
  return (
    responseOnceRun(context, earlier) ??
    waitForFirst(async () => {
      const payment = await findPayment(context, earlier.id);
      return payment && responseOnceRun(context, payment);
    })
  );
}

/** A repeated request extends `wantedUntil`. */
async function wantLonger(
  context: Pick<PaymentContext, 'engine' | 'wantedMs' | 'now'>,
  earlier: Payment,
): Promise<void> {
  const now = context.now();
  const wantedUntil = now + context.wantedMs;
  if (earlier.state !== 'in_doubt' || !isWanted(earlier, now)) return;
  if (wantedUntil - earlier.wantedUntil < Math.min(wantedStepMs, context.wantedMs / 10)) return;
  await changePayment(context, earlier.id, (payment) =>
    payment.state === 'in_doubt' && isWanted(payment, now)
      ? { payment: { ...payment, wantedUntil: Math.max(wantedUntil, payment.wantedUntil) } }
      : undefined,
  );
}

/** Undefined while the first request is still running. */
function responseOnceRun(
  context: Pick<PaymentContext, 'sealer'>,
  payment: Payment,
): PaymentResponse | undefined {
  const isRunning = payment.response === undefined && payment.state === 'calling';
  return isRunning ? undefined : currentResponse(context, payment, { replayed: true });
}

/** Traces a repeated request whose response is known. */
export function traceReplay(
  { traces }: Pick<PaymentContext, 'traces'>,
  { processor, traceparent }: Pick<UncheckedChargeRequest, 'processor' | 'traceparent'>,
  response: PaymentResponse,
): Promise<PaymentResponse> {
  return traces.charge({ name: 'charge', traceparent }, async (trace) => {
    trace.set({ processor, payment_id: response.paymentId, outcome: 'replayed' });
    return response;
  });
}
