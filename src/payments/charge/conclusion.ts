import type { Declined } from '../../processors/event.ts';
import type { ChargeState } from '../charge-state.ts';
import type { Payment } from '../payment.ts';
import type { Finding, Settlement } from './outcome.ts';

/**
 * A rejection counts only while its request is the only one. Once another process has claimed the charge and may have
 * requested it again, the rejection proves nothing about that request; then the charge is looked up.
 */
export function conclusion(payment: Payment, { outcome, basis }: Finding): Settlement {
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
export function stateOf({ state }: Payment, { kind }: Settlement): ChargeState {
  if (kind === 'succeeded' || kind === 'requires_action') return kind;
  if (kind !== 'unknown') return 'declined';
  return state === 'requires_action' ? state : 'in_doubt';
}

/** Whether the outcome does not end a charge. */
export function isOpenEnded({ kind }: Settlement): boolean {
  return kind === 'unknown' || kind === 'requires_action';
}

/** A decline after which the attempt can still succeed: the buyer can come back to it, also with another card. */
export function isOpenDecline({ returnUrl }: Payment, outcome: Settlement): outcome is OpenDecline {
  return returnUrl !== undefined && outcome.kind === 'declined' && outcome.openAttemptId !== undefined;
}

type OpenDecline = Declined & { readonly openAttemptId: string };
