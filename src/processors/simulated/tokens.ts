import { randomBytes } from 'node:crypto';
import { commonDeclineCodes } from '../processor.ts';
import { type LedgerCharge, type LedgerEntry, type LedgerRequest, refundScripts } from './ledger.ts';

/** Tokens that decline: `tok_<decline code>`. */
export const decliningTokens = commonDeclineCodes;

/** Tokens that pay: `tok_<word>`. */
const payingTokens = ['paid', 'visa', 'slow', 'lost_reply'];

export const slowReplyMs = 2_000;

/** What a charge request does, by its token. */
export function entryOf(request: LedgerRequest): LedgerEntry {
  const { key, token } = request;
  const word = wordOf(token);
  const declineCode = decliningTokens.find((code) => code === word);
  if (declineCode !== undefined) return { kind: 'reply', key, reply: { kind: 'declined', declineCode } };
  if (word === 'requires_action') return challengeOf(request);
  const refunds = refundScripts.find((script) => script === word);
  if (refunds === undefined && !payingTokens.some((paying) => paying === word))
    return { kind: 'reply', key, reply: { kind: 'no_such_token' } };
  const charge = chargeOf(request);
  return { kind: 'charge', charge: refunds === undefined ? charge : { ...charge, refunds } };
}

function chargeOf({ key, paymentId, amount, currency, request, metadata }: LedgerRequest): LedgerCharge {
  const chargeId = `ch_simulated_${randomBytes(12).toString('hex')}`;
  const recorded = { ...(request && { request }), ...(metadata && { metadata }) };
  return { key, paymentId, amount, currency, chargeId, madeAt: Date.now(), ...recorded };
}

function challengeOf(request: LedgerRequest): LedgerEntry {
  const { key, returnUrl } = request;
  if (returnUrl === undefined)
    return { kind: 'reply', key, reply: { kind: 'declined', declineCode: 'authentication_required' } };
  const challengeId = randomBytes(16).toString('hex');
  return { kind: 'challenge', challenge: { challengeId, charge: chargeOf(request), returnUrl } };
}

function wordOf(token: string): string | undefined {
  return /^tok_([a-z_]+)$/.exec(token)?.[1];
}
