import type { Stripe } from 'stripe';
import type { LookUp, RefundOutcome, RefundRequest, SoughtRefund } from '../processor.ts';
import { outcomeInTime, rejectedRefund } from '../sending/outcomes.ts';
import type { Sends } from '../sending/send-once.ts';
import { amountProblem, stripeAmount } from './amount.ts';
import { paymentIdKey } from './charge.ts';
import { errorDetail, isDefiniteRejection, wasTurnedAway } from './errors.ts';

/** The key of our refund id in Stripe's metadata. */
export const refundIdKey = 'counterfoil_refund_id';

/** https://docs.stripe.com/api/refunds/create */
export async function refund(client: Stripe, sends: Sends, request: RefundRequest): Promise<RefundOutcome> {
  const { chargeId, refundId, paymentId, processorKey, currency, timeoutMs } = request;
  const problem = amountProblem(request.amount, currency);
  if (problem !== undefined) return { kind: 'rejected', ...problem };
  const params = {
    charge: chargeId,
    amount: stripeAmount(request.amount, currency),
    metadata: { [paymentIdKey]: paymentId, [refundIdKey]: refundId },
  };
  const options = { idempotencyKey: processorKey, timeout: timeoutMs };
  const refunded = sends.only(processorKey, () =>
    client.refunds.create(params, options).then(refundOutcome, failureOutcome),
  );
  return outcomeInTime(refunded, timeoutMs);
}

/** Reads all refunds of the charge: they are few. */
export async function findRefund(client: Stripe, sought: SoughtRefund): Promise<LookUp<RefundOutcome>> {
  const { chargeId, refundId, timeoutMs: timeout } = sought;
  const looking = (async (): Promise<LookUp<RefundOutcome>> => {
    for await (const found of client.refunds.list({ charge: chargeId, limit: 100 }, { timeout })) {
      if (found.metadata?.[refundIdKey] === refundId) return refundOutcome(found);
    }
    return { kind: 'absent' };
  })().catch((error: unknown) => ({ kind: 'unknown', detail: errorDetail(error) }) as const);
  return outcomeInTime(looking, timeout, 'no look-up in time');
}

/** https://docs.stripe.com/api/refunds/object#refund_object-status */
export function refundState(status: string | null): 'pending' | 'succeeded' | 'failed' {
  if (status === 'succeeded') return 'succeeded';
  return status === 'failed' || status === 'canceled' ? 'failed' : 'pending';
}

function refundOutcome({ id, status }: Stripe.Refund): RefundOutcome {
  return { kind: refundState(status), processorRefundId: id };
}

function failureOutcome(error: unknown): RefundOutcome {
  const { code } = error as Partial<Stripe.errors.StripeError>;
  const detail = errorDetail(error);
  if (wasTurnedAway(error)) return { kind: 'not_attempted', detail };
  if (!isDefiniteRejection(error)) return { kind: 'unknown', detail };
  // https://docs.stripe.com/error-codes#charge-disputed
  return rejectedRefund({ by: 'Stripe', code, detail }, code === 'charge_disputed');
}
