import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { commonDeclineCodes } from '../processor.ts';
import { sendOnce } from '../sending/send-once.ts';

/** A charge request to the simulated processor, as a real processor receives it over its API. */
export interface LedgerRequest {
  readonly key: string;
  readonly paymentId: string;
  readonly amount: number;
  readonly currency: string;
  readonly token: string;
}

export type LedgerReply =
  | { readonly kind: 'paid'; readonly chargeId: string }
  | { readonly kind: 'declined'; readonly declineCode: string }
  | { readonly kind: 'no_such_token' }
  | { readonly kind: 'error' }
  /** The charge was made, but its reply never arrives. */
  | { readonly kind: 'lost' };

export interface LedgerCharge extends LedgerRequest {
  readonly chargeId: string;
  /** Milliseconds since 1970. */
  readonly madeAt: number;
}

export interface LedgerRefundRequest {
  readonly key: string;
  readonly refundId: string;
  readonly chargeId: string;
  readonly amount: number;
}

export type LedgerRefundReply =
  | { readonly kind: 'refunded' | 'pending'; readonly ledgerRefundId: string }
  | { readonly kind: 'no_such_charge' }
  | { readonly kind: 'too_much' }
  | { readonly kind: 'rejected' }
  /** The refund was made, but its reply never arrives. */
  | { readonly kind: 'lost' };

export interface LedgerRefund extends LedgerRefundRequest {
  readonly ledgerRefundId: string;
  readonly isPending: boolean;
}

/** The result of a cancellation: `canceled` when the key has charged nothing and now never will. */
export type LedgerCancelReply = LedgerReply | { readonly kind: 'canceled' };

/** All charges and refunds of the ledger. */
export interface LedgerRecords {
  readonly charges: readonly LedgerCharge[];
  readonly refunds: readonly LedgerRefund[];
}

/** The simulated processor's ledger; it may run in another process. */
export interface SimulatedLedger {
  charge(request: LedgerRequest): Promise<LedgerReply>;
  /** Blocks the key of a charge, or returns the outcome of that charge. */
  cancel(key: string): Promise<LedgerCancelReply>;
  refund(request: LedgerRefundRequest): Promise<LedgerRefundReply>;
  records(): Promise<LedgerRecords>;
}

/** Tokens that decline: `tok_<decline code>`. */
export const decliningTokens = commonDeclineCodes;

/** Tokens that pay; the last ones script the outcome of a refund. */
const payingTokens = [
  'paid',
  'visa',
  'slow',
  'lost_reply',
  'refund_pending',
  'refund_rejected',
  'refund_lost_reply',
];

export const slowReplyMs = 2_000;
/** Longer than any caller's time-out. */
const callMsMax = 60_000;

/**
 * A ledger in memory, scripted by its tokens: `tok_paid` (and `tok_visa`, so that a request written for Stripe's
 * test mode works), `tok_<decline code>`, `tok_processor_error`, `tok_slow`, `tok_lost_reply`, and for the refunds of
 * a paid charge `tok_refund_pending`, `tok_refund_rejected`, `tok_refund_lost_reply`. As at a real processor, a repeated
 * key does nothing and returns the first reply.
 */
export class MemoryLedger implements SimulatedLedger {
  readonly charges: LedgerCharge[] = [];
  readonly refunds: LedgerRefund[] = [];
  readonly #chargeReplies = new Map<string, LedgerReply>();
  readonly #refundReplies = new Map<string, LedgerRefundReply>();

  async charge(request: LedgerRequest): Promise<LedgerReply> {
    const before = this.#chargeReplies.get(request.key);
    if (before !== undefined) return before;
    if (request.token === 'tok_processor_error') return { kind: 'error' };
    const reply = this.#decide(request);
    this.#chargeReplies.set(request.key, reply);
    if (request.token === 'tok_slow') await sleep(slowReplyMs);
    return request.token === 'tok_lost_reply' ? { kind: 'lost' } : reply;
  }

  #decide(request: LedgerRequest): LedgerReply {
    const word = wordOf(request.token);
    const declineCode = decliningTokens.find((code) => code === word);
    if (declineCode !== undefined) return { kind: 'declined', declineCode };
    if (word === undefined || !payingTokens.includes(word)) return { kind: 'no_such_token' };
    const chargeId = `ch_simulated_${randomBytes(12).toString('hex')}`;
    this.charges.push({ ...request, chargeId, madeAt: Date.now() });
    return { kind: 'paid', chargeId };
  }

  async cancel(key: string): Promise<LedgerCancelReply> {
    const before = this.#chargeReplies.get(key);
    if (before !== undefined && before !== canceledReply) return before;
    this.#chargeReplies.set(key, canceledReply);
    return { kind: 'canceled' };
  }

  async refund(request: LedgerRefundRequest): Promise<LedgerRefundReply> {
    const before = this.#refundReplies.get(request.key);
    if (before !== undefined) return before;
    const charge = this.charges.find(({ chargeId }) => chargeId === request.chargeId);
    if (charge === undefined) return { kind: 'no_such_charge' };
    const word = wordOf(charge.token);
    if (word === 'refund_rejected') return { kind: 'rejected' };
    const earlier = this.refunds.filter(({ chargeId }) => chargeId === request.chargeId);
    if (earlier.reduce((sum, { amount }) => sum + amount, request.amount) > charge.amount)
      return { kind: 'too_much' };
    const ledgerRefundId = `re_simulated_${randomBytes(12).toString('hex')}`;
    const isPending = word === 'refund_pending';
    this.refunds.push({ ...request, ledgerRefundId, isPending });
    const reply: LedgerRefundReply = { kind: isPending ? 'pending' : 'refunded', ledgerRefundId };
    this.#refundReplies.set(request.key, reply);
    return word === 'refund_lost_reply' ? { kind: 'lost' } : reply;
  }

  async records(): Promise<LedgerRecords> {
    return this;
  }
}

/** The reply to a request with a blocked key. */
const canceledReply: LedgerReply = { kind: 'error' };

function wordOf(token: string): string | undefined {
  return /^tok_([a-z_]+)$/.exec(token)?.[1];
}

/** A ledger in a separate process, over HTTP on loopback. Rejects as `sendOnce` does. */
export class RemoteLedger implements SimulatedLedger {
  readonly #origin: string;

  constructor(origin: string) {
    this.#origin = origin;
  }

  charge(request: LedgerRequest): Promise<LedgerReply> {
    return this.#call('/charges', request);
  }

  cancel(key: string): Promise<LedgerCancelReply> {
    return this.#call('/cancellations', { key });
  }

  refund(request: LedgerRefundRequest): Promise<LedgerRefundReply> {
    return this.#call('/refunds', request);
  }

  records(): Promise<LedgerRecords> {
    return this.#call('/records');
  }

  async #call<Reply>(path: string, json?: unknown): Promise<Reply> {
    const method = json === undefined ? 'GET' : 'POST';
    const body = json === undefined ? undefined : JSON.stringify(json);
    const url = new URL(this.#origin + path);
    const { text } = await sendOnce({ url, method, headers: {}, body, timeoutMs: callMsMax });
    return JSON.parse(text) as Reply;
  }
}
