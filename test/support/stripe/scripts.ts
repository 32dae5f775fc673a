import { randomBytes } from 'node:crypto';
import { pairs } from './pairs.ts';
import {
  badKey,
  declined,
  impossible,
  invalid,
  keyInUse,
  outOfOrder,
  type Reply,
  tooManyRequests,
} from './replies.ts';
import type { Script } from './script.ts';

const insufficientFunds = { code: 'card_declined', decline_code: 'insufficient_funds' };
const authentication = { code: 'authentication_required', decline_code: 'authentication_required' };

const charges: Readonly<Record<string, Script>> = {
  paid: {},
  visa: {},
  mastercard_debit: {},
  insufficient_funds: { decline: insufficientFunds },
  generic_decline: { decline: { code: 'card_declined', decline_code: 'generic_decline' } },
  expired_card: { decline: { code: 'expired_card' } },
  authentication_required: { decline: authentication },
  requires_action: { requiresAction: true },
  requires_action_and_never_replies: { requiresAction: true, delivery: { of: 'intent', fault: 'held' } },
  requires_action_and_dropped: { requiresAction: true, delivery: { of: 'intent', fault: 'dropped' } },
  amount_too_small: { error: invalid({ code: 'amount_too_small', param: 'amount' }) },
  currency_not_accepted: { error: invalid({ param: 'currency' }) },
  rate_limited: { error: tooManyRequests(), passes: true },
  bad_key: { error: badKey() },
  key_in_use: { error: keyInUse(), passes: true },
  dependency_failed: { error: { ...outOfOrder(424) }, charges: true },
  error_after_charging: { error: outOfOrder(), charges: true },
  error_after_declining: { error: outOfOrder(503), decline: insufficientFunds },
  error_before_charging: { error: outOfOrder() },
  error_while_confirming: { error: outOfOrder(502), leaves: 'requires_confirmation' },
  processing: { leaves: 'processing' },
  processing_then_declined: { leaves: 'processing', decline: insufficientFunds },
  worked_on: { isWorkedOn: true },
  queued: { isQueued: true },
  worked_on_then_declined: { isWorkedOn: true, decline: insufficientFunds },
};

const lostOnTheWay: Readonly<Record<string, Script>> = {
  other_amount: { takes: { amount: 900 } },
  other_amount_and_dropped: { takes: { amount: 900 }, delivery: { of: 'intent', fault: 'dropped' } },
  dropped_after_charging: { delivery: { of: 'intent', fault: 'dropped' } },
  declined_and_dropped: { decline: insufficientFunds, delivery: { of: 'intent', fault: 'dropped' } },
  dropped_late: { delivery: { of: 'intent', fault: 'dropped late' } },
  never_replies: { delivery: { of: 'intent', fault: 'held' } },
  delayed: { delivery: { of: 'intent', fault: 'delayed' } },
  cut_after_charging: { delivery: { of: 'intent', fault: 'cut' } },
  declined_and_cut: { decline: insufficientFunds, delivery: { of: 'intent', fault: 'cut' } },
  malformed_after_charging: { delivery: { of: 'intent', fault: 'malformed' } },
};

const methods: Readonly<Record<string, Script>> = {
  method_declined: { methodDecline: insufficientFunds },
  method_error: { methodError: outOfOrder(), passes: true },
  method_dropped: { delivery: { of: 'method', fault: 'dropped' } },
  method_never_replies: { delivery: { of: 'method', fault: 'held' } },
  method_cut: { delivery: { of: 'method', fault: 'cut' } },
};

const refunds: Readonly<Record<string, Script>> = {
  refund_pending: { refundStatus: 'pending' },
  refund_failed: { refundStatus: 'failed' },
  refund_rejected: { refundError: impossible({ code: 'charge_disputed' }) },
  refund_rate_limited: { refundError: tooManyRequests(), passes: true },
  refund_key_in_use: { refundError: keyInUse(), passes: true },
  refund_error_after: { refundError: outOfOrder(), refunds: true },
  refund_error_before: { refundError: outOfOrder() },
  refund_dropped: { delivery: { of: 'refund', fault: 'dropped' } },
  refund_dropped_late: { delivery: { of: 'refund', fault: 'dropped late' } },
  refund_cut: { delivery: { of: 'refund', fault: 'cut' } },
  refund_malformed: { delivery: { of: 'refund', fault: 'malformed' } },
  refund_delayed: { delivery: { of: 'refund', fault: 'delayed' } },
  refund_never_replies: { delivery: { of: 'refund', fault: 'held' } },
};

/** The reply to a card decline. `more` has the PaymentIntent, where there is one. */
export function declineReply(decline: NonNullable<Script['decline']>, more: object = {}): Reply {
  return declined({ ...decline, ...more });
}

const scripts = new Map(Object.entries({ ...charges, ...lostOnTheWay, ...methods, ...refunds, ...pairs }));

/** Undefined for an unknown word. */
export function scriptOf(word: string): Script | undefined {
  return scripts.get(word);
}

/** A single-use token; any token of this form pays. */
export const singleUseToken = 'tok_1NZkQ82eZvKYlo2C0aBcDeFg';

/** A new single-use token with a word at its end: `tok_1…MethodDropped`. */
export function singleUseTokenOf(word: string): string {
  const parts = word.split('_').map((part) => part.charAt(0).toUpperCase() + part.slice(1));
  // Of letters and digits, as Stripe's are: hexadecimal ones hold what looks like a card number once in 10,000.
  const random = Array.from(randomBytes(23), (byte) => (byte % 36).toString(36));
  return `tok_1${random.join('')}${parts.join('')}`;
}

export function isSingleUse(token: string): boolean {
  return /^tok_1[A-Za-z0-9]{23}([A-Z][A-Za-z0-9]*)?$/.test(token);
}

/** The word of a token: `paid` of `tok_paid`, `pm_paid` and `pm_card_paid`. */
export function wordOfToken(token: string): string {
  if (!isSingleUse(token)) return token.replace(/^(tok|pm)_(card_)?/, '');
  const parts = token.slice(singleUseToken.length).match(/[A-Z][a-z]*|\d+/g) ?? ['paid'];
  return parts.join('_').toLowerCase();
}
