import { processorCallMsMax, recoveryDelayMsMax, recoveryDelayMsMin } from '../limits.ts';
import { errorFields } from '../log.ts';
import type { ChargeOutcome, Processor } from '../processors/processor.ts';
import type { Write } from '../storage/engine.ts';
import { answerOf, type PaymentAnswer, unknownAnswer } from './answer.ts';
import { type ChargeState, hasEnded, move } from './charge.ts';
import { findProcessor, type PaymentParts } from './parts.ts';
import {
  type OpenPayment,
  openPaymentsSpace,
  type Payment,
  paymentKeysSpace,
  paymentsSpace,
} from './payment.ts';

/**
 * The second and third step, for a charge whose lease is ours: asks the processor, always with the payment's own
 * key, and stores what became of it. Recovery comes in here too.
 */
export async function driveCharge(
  parts: PaymentParts,
  payment: Payment,
  token: string,
): Promise<PaymentAnswer> {
  const outcome = knownOutcome(payment, await ask(findProcessor(parts, payment.processor), payment, token));
  const asked = afterOutcome(payment, outcome);
  try {
    await settle(parts, payment, asked, { freeKey: outcome.kind === 'not_taken' });
  } catch (error) {
    // The charge may have been made, and its record says "calling": recovery will tell the truth from there.
    parts.log.error('charge_not_settled', { payment_id: payment.id, ...errorFields(error) });
    return unknownAnswer(payment);
  }
  const detail = 'detail' in outcome ? outcome.detail : undefined;
  parts.log.info('charge', {
    request_id: payment.requestId,
    payment_id: payment.id,
    processor: payment.processor,
    state: asked.state,
    detail,
  });
  if (asked.answer === undefined) return unknownAnswer(payment);
  return { ...asked.answer, paymentId: payment.id, replayed: false };
}

async function ask(processor: Processor, payment: Payment, token: string): Promise<ChargeOutcome> {
  const { id: paymentId, processorKey, amount, currency } = payment;
  try {
    return await processor.charge({
      paymentId,
      processorKey,
      amount,
      currency,
      token,
      timeoutMs: processorCallMsMax,
    });
  } catch (error) {
    return { kind: 'unknown', detail: `the adapter threw ${(error as Error).name}` };
  }
}

/** Being turned away now proves nothing about an earlier attempt, which may have charged. */
function knownOutcome(payment: Payment, outcome: ChargeOutcome): ChargeOutcome {
  if (outcome.kind !== 'not_taken' || payment.state !== 'in_doubt') return outcome;
  return { kind: 'unknown', detail: outcome.detail };
}

/** The payment as the outcome leaves it: one that has ended has its answer, and its token is erased. */
function afterOutcome(payment: Payment, outcome: ChargeOutcome): Payment {
  const state = move(payment.state, stateOf(outcome));
  const attempts = payment.attempts + 1;
  if (!hasEnded(state)) return { ...payment, state, attempts };
  return {
    ...withoutToken(payment),
    state,
    attempts,
    ...(outcome.kind === 'succeeded' ? { chargeId: outcome.chargeId } : {}),
    ...(outcome.kind === 'declined' ? { declineCode: outcome.declineCode } : {}),
    answer: answerOf(outcome, payment),
  };
}

export function withoutToken(payment: Payment): Payment {
  const { sealedToken: _erased, ...kept } = payment;
  return kept;
}

function stateOf(outcome: ChargeOutcome): ChargeState {
  if (outcome.kind === 'succeeded') return 'succeeded';
  return outcome.kind === 'unknown' ? 'in_doubt' : 'declined';
}

/**
 * One commit: the payment as it is now, its marker (removed, or free to be taken up again after a while) and,
 * where nothing was asked so that the same request may fare better later, the caller's key.
 */
export async function settle(
  { engine, now }: PaymentParts,
  before: Payment,
  after: Payment,
  { freeKey }: { readonly freeKey: boolean },
): Promise<void> {
  const { id, keyEntry } = before;
  const lease: OpenPayment = { leaseEndsAt: now() + recoveryDelayMs(after.attempts) };
  const writes: Write[] = [
    {
      kind: 'replace',
      space: paymentsSpace,
      id,
      value: JSON.stringify(after),
      ifValue: JSON.stringify(before),
    },
    hasEnded(after.state)
      ? { kind: 'delete', space: openPaymentsSpace, id }
      : { kind: 'replace', space: openPaymentsSpace, id, value: JSON.stringify(lease) },
  ];
  if (freeKey && keyEntry !== undefined)
    writes.push({ kind: 'delete', space: paymentKeysSpace, id: keyEntry });
  const refusal = await engine.commit(writes);
  if (refusal !== undefined) throw new Error(`payment ${id} was changed by someone without its lease`);
}

function recoveryDelayMs(attempts: number): number {
  return Math.min(recoveryDelayMsMin * 2 ** (attempts - 1), recoveryDelayMsMax);
}
