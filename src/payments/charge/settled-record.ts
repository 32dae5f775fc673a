import { eventsPerPaymentMax } from '../limits.ts';
import type { Payment } from '../payment.ts';
import { withoutReceiptEmail } from './details.ts';
import type { ObservedOutcome, Outcome } from './outcome.ts';
import { responseTo } from './response.ts';

/** The fields of a payment's record that a step of its charge adds and erases. */

export function withObserved(payment: Payment, { eventId }: ObservedOutcome): Payment {
  if (eventId === undefined) return { ...payment, attempts: payment.attempts + 1 };
  return { ...payment, events: withEvent(payment, eventId) };
}

/** Adds the response of an ended payment, and erases its token and its buyer's addresses. */
export function withOutcome(payment: Payment, outcome: Outcome): Payment {
  return {
    ...withoutSecrets(payment),
    ...(outcome.kind === 'succeeded' ? { chargeId: outcome.chargeId } : {}),
    ...('declineCode' in outcome ? { declineCode: outcome.declineCode } : {}),
    response: responseTo(outcome, payment),
  };
}

export function withoutToken(payment: Payment): Payment {
  const { sealedToken: _erased, ...rest } = withoutReceiptEmail(payment);
  return rest;
}

export function withoutSecrets(payment: Payment): Payment {
  const { authentication, sealedBuyerAddress: _erased, ...rest } = withoutToken(payment);
  if (authentication === undefined) return rest;
  const { sealedAction: _action, lookUp: _ended, ...kept } = authentication;
  return { ...rest, authentication: kept };
}

export function withEvent({ events = [] }: Payment, id: string): readonly string[] {
  return [...events, id].slice(-eventsPerPaymentMax);
}
