import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '../../errors.ts';
import type { Trace } from '../../telemetry.ts';
import type { PaymentContext } from '../context.ts';
import { idempotentWaitMsMax, retryStepMs } from '../limits.ts';
import type { Payment } from '../payment.ts';
import { changePayment, findPayment } from '../payment-store.ts';
import { refreshAuthentication } from './authenticate.ts';
import { isWanted } from './execute.ts';
import { type CheckedChargeRequest, differingField } from './request.ts';
import { currentResponse, type PaymentResponse } from './response.ts';

/**
 * Answers a repeated request with the response of the first one. Waits while the first request is running. A payment
 * that waits for its cardholder is looked up, so that the response has the outcome as soon as there is one.
 */
export async function replay(
  context: PaymentContext,
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
  const payment = isRunning(earlier)
    ? await waitForFirst(async () => {
        const found = await findPayment(context, earlier.id);
        return found === undefined || isRunning(found) ? undefined : found;
      })
    : await refreshAuthentication(context, earlier);
  return currentResponse(context, payment, { replayed: true });
}

/** A repeated request extends `retryUntil`. */
async function wantLonger(
  context: Pick<PaymentContext, 'engine' | 'retryMs' | 'now'>,
  earlier: Payment,
): Promise<void> {
  const now = context.now();
  const retryUntil = now + context.retryMs;
  if (earlier.state !== 'in_doubt' || !isWanted(earlier, now)) return;
  if (retryUntil - earlier.retryUntil < Math.min(retryStepMs, context.retryMs / 10)) return;
  await changePayment(context, earlier.id, (payment) =>
    payment.state === 'in_doubt' && isWanted(payment, now)
      ? { payment: { ...payment, retryUntil: Math.max(retryUntil, payment.retryUntil) } }
      : undefined,
  );
}

/** Whether the first request has no response yet. */
function isRunning({ response, state }: Payment): boolean {
  return response === undefined && state === 'calling';
}

const pollMs = 25;

/**
 * Waits while the first request with the same key is running, in this process or another. Throws
 * `idempotency_key_in_use` if that takes too long.
 *
 * @param look returns undefined while the first request is running
 */
export async function waitForFirst<Result>(look: () => Promise<Result | undefined>): Promise<Result> {
  const giveUpAt = performance.now() + idempotentWaitMsMax;
  for (;;) {
    const result = await look();
    if (result !== undefined) return result;
    if (performance.now() >= giveUpAt)
      throw new ServiceError('idempotency_key_in_use', { retryAfterSeconds: 1 });
    await sleep(pollMs);
  }
}
