import type { ChargeOutcome } from '../../processors/processor.ts';
import type { Declined, Money } from '../../processors/reports.ts';
import type { Write } from '../../storage/engine.ts';
import type { ChargeState } from '../charge-state.ts';
import type { Payment } from '../payment.ts';

/** The outcome of a charge: the one that the processor reports, or a cancellation before the charge was made. */
export type Outcome = ChargeOutcome | Canceled;

/** The decline codes of the service itself. */
export const ownDeclineCodes = ['canceled', 'expired', 'authentication_timeout'] as const;
type OwnDeclineCode = (typeof ownDeclineCodes)[number];

interface Canceled {
  readonly kind: 'canceled';
  /**
   * `canceled` by the shop; `expired` after `retryUntil`; `authentication_timeout` after the time to authenticate; or the
   * processor's code for an authentication that failed.
   */
  readonly declineCode: OwnDeclineCode | (string & {});
  /** The decline after which the attempt was canceled; absent if it was canceled for another reason. */
  readonly declined?: Declined;
}

/** An outcome of a charge and its source. */
export interface ObservedOutcome {
  readonly outcome: Outcome;
  /** The processor's event that reported it; absent if the processor was called. */
  readonly eventId?: string | undefined;
  /**
   * `reply`: the reply to this process's request. `proof`: a look-up in the processor's records, or a signed event. A
   * success is always proof, because it names a charge.
   */
  readonly basis: 'reply' | 'proof';
  /** The audit entry to commit with it, for an administrative act (`audited`). */
  readonly audit?: Write;
}

/**
 * What an observed outcome proves. A rejection counts only while its request is the only one. Once another process has
 * claimed the charge and may have requested it again, the rejection proves nothing about that request, and the charge
 * is looked up. A decline counts only once its attempt is canceled.
 */
export function finalOutcome(payment: Payment, { outcome, basis }: ObservedOutcome): Outcome {
  const { state, authentication } = payment;
  if (isOpenDecline(payment, outcome)) return { kind: 'unknown', detail: 'declined, and not canceled yet' };
  if (outcome.kind === 'succeeded' || isOpenEnded(outcome) || state === 'calling') return outcome;
  // The cardholder's page can still confirm the attempt, also with another card, unless the processor has canceled it.
  if (authentication !== undefined && outcome.kind !== 'canceled')
    return { kind: 'unknown', detail: `not canceled yet: ${outcome.kind}` };
  if (basis !== 'reply' && outcome.kind !== 'not_attempted') return outcome;
  const detail = 'detail' in outcome ? outcome.detail : outcome.kind;
  return { kind: 'unknown', detail: `rejected when it may have been sent twice: ${detail}` };
}

/** The state of a charge after this outcome. */
export function stateAfter({ state }: Payment, { kind }: Outcome): ChargeState {
  if (kind === 'succeeded' || kind === 'requires_action') return kind;
  if (kind !== 'unknown') return 'declined';
  return state === 'requires_action' ? state : 'in_doubt';
}

/** Whether the charge stays open after this outcome. */
export function isOpenEnded({ kind }: Outcome): boolean {
  return kind === 'unknown' || kind === 'requires_action';
}

/** A decline after which the attempt can still succeed: the buyer can return to it, even with another card. */
export function isOpenDecline({ returnUrl }: Payment, outcome: Outcome): outcome is OpenDecline {
  return returnUrl !== undefined && outcome.kind === 'declined' && outcome.openAttemptId !== undefined;
}

type OpenDecline = Declined & { readonly openAttemptId: string };

/**
 * The money that the processor has taken, if it differs from the amount of the payment. Then neither figure counts as
 * true.
 */
export function otherAmount({ amount, currency }: Payment, outcome: Outcome): Money | undefined {
  if (outcome.kind !== 'succeeded' || outcome.taken === undefined) return undefined;
  const { taken } = outcome;
  return taken.amount === amount && taken.currency === currency ? undefined : taken;
}

/** Both amounts, for people. */
export function otherAmountMessage(payment: Payment, taken: Money): string {
  return (
    `The payment processor reports a charge of ${written(taken)} for this payment of ${written(payment)}, in the smallest unit of ` +
    'the currency. The shop must look it up there before it delivers or refunds.'
  );
}

/** Both amounts, for the log. */
export function otherAmountDetail(payment: Payment, taken: Money): string {
  return `${written(taken)} instead of ${written(payment)}`;
}

function written({ amount, currency }: Money): string {
  return `${amount} ${currency}`;
}
