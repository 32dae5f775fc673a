import type { LookUp, RefundOutcome, RefundRequest, SoughtRefund } from '../processor.ts';
import { outcomeInTime, rejectedRefund } from '../sending/outcomes.ts';
import { asObject, asText, type Json, type SquareAccount, squareMoney } from './api.ts';
import { isDefiniteRejection, readFault, wasTurnedAway } from './errors.ts';

/**
 * https://developer.squareup.com/reference/square/refunds-api/refund-payment. A refund has no reference field, so its
 * reason, of at most 192 characters, holds our refund id.
 */
export function refund({ api, sends }: SquareAccount, request: RefundRequest): Promise<RefundOutcome> {
  const { refundId, chargeId, processorKey, amount, currency, timeoutMs, isRecovery } = request;
  const body = {
    idempotency_key: processorKey,
    payment_id: chargeId,
    amount_money: squareMoney(amount, currency),
    reason: `Counterfoil ${refundId}`,
  };
  const refunded = sends.only(processorKey, () =>
    api
      .post('/v2/refunds', body, { timeoutMs, isRecovery })
      .then((reply) => refundOutcome(asObject(reply.refund)), failureOutcome),
  );
  return outcomeInTime(refunded, timeoutMs);
}

/**
 * Reads the ids of the payment's refunds, 20 at most (https://developer.squareup.com/docs/payments-api/refund-payments),
 * and then each refund. The list of refunds is unsuitable: it may be behind and has no filter by payment.
 */
export async function findRefund(
  { api }: SquareAccount,
  sought: SoughtRefund,
): Promise<LookUp<RefundOutcome>> {
  const { chargeId, refundId: soughtId, timeoutMs } = sought;
  const options = { timeoutMs, signal: AbortSignal.timeout(timeoutMs), isRecovery: true };
  const looking = (async (): Promise<LookUp<RefundOutcome>> => {
    const payment = asObject((await api.get(`/v2/payments/${chargeId}`, {}, options)).payment);
    if (payment.id === undefined) return { kind: 'unknown', detail: 'no payment in the reply' };
    const ids = Array.isArray(payment.refund_ids) ? payment.refund_ids : [];
    for (const refundId of ids) {
      const found = asObject((await api.get(`/v2/refunds/${refundId}`, {}, options)).refund);
      if (found.id === undefined) return { kind: 'unknown', detail: 'no refund in the reply' };
      if (parseRefundId(asText(found.reason)) === soughtId) return refundOutcome(found);
    }
    return { kind: 'absent' };
  })().catch((error: unknown) => ({ kind: 'unknown', detail: readFault(error).detail }) as const);
  return outcomeInTime(looking, timeoutMs, 'no look-up in time');
}

/** @returns our refund id from a reason; undefined if another system made the refund */
export function parseRefundId(reason: string | null | undefined): string | undefined {
  return /^Counterfoil (ref_[0-9a-f]{32})$/.exec(reason ?? '')?.[1];
}

/** https://developer.squareup.com/reference/square/objects/PaymentRefund; APPROVED is the older name of COMPLETED. */
export function refundState(status: string | null | undefined): 'pending' | 'succeeded' | 'failed' {
  if (status === 'COMPLETED' || status === 'APPROVED') return 'succeeded';
  return status === 'REJECTED' || status === 'FAILED' ? 'failed' : 'pending';
}

function refundOutcome({ id, status }: Json): RefundOutcome {
  if (typeof id !== 'string') return { kind: 'unknown', detail: 'no refund in the reply' };
  return { kind: refundState(asText(status)), processorRefundId: id };
}

function failureOutcome(error: unknown): RefundOutcome {
  const fault = readFault(error);
  const { codes, detail } = fault;
  // Square rejects a second refund only while one is pending.
  if (wasTurnedAway(fault) || codes.includes('REFUND_ALREADY_PENDING'))
    return { kind: 'not_attempted', detail };
  if (!isDefiniteRejection(fault)) return { kind: 'unknown', detail };
  // https://developer.squareup.com/reference/square/enums/ErrorCode
  const isDisputed = codes.includes('PAYMENT_NOT_REFUNDABLE_DUE_TO_DISPUTE');
  return rejectedRefund({ by: 'Square', code: codes[0], detail }, isDisputed);
}
