import type { Stripe } from 'stripe';
import type { RequiresAction } from '../processor.ts';

/**
 * The parameters that decide what happens when the cardholder's bank requires authentication: the intent waits for the
 * cardholder, or, when they cannot come back, it fails at once.
 */
export function authenticationParameters(
  returnUrl: string | undefined,
): Pick<Stripe.PaymentIntentCreateParams, 'return_url' | 'error_on_requires_action'> {
  return returnUrl === undefined ? { error_on_requires_action: true } : { return_url: returnUrl };
}

/**
 * What the cardholder must do next (https://docs.stripe.com/api/payment_intents/object#payment_intent_object-next_action):
 * go to the bank's page, or let Stripe.js show it by the client secret. Undefined if the intent names no page, as without a
 * `return_url`.
 */
export function requiredAction({
  id,
  status,
  next_action: next,
  client_secret: secret,
}: Stripe.PaymentIntent): RequiresAction | undefined {
  const url = next?.redirect_to_url?.url;
  if (status !== 'requires_action' || typeof url !== 'string') return undefined;
  const shown = secret === null ? {} : { client_secret: secret };
  return { kind: 'requires_action', attemptId: id, action: { type: 'redirect', url, ...shown } };
}
