import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { commonDeclineCodes } from '../processor.ts';

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

/** A charge that was made. It has no token: tokens are in no record in clear. */
export interface LedgerCharge extends Omit<LedgerRequest, 'token'> {
  readonly chargeId: string;
  /** Milliseconds since 1970. */
  readonly madeAt: number;
  /** What its token scripts for its refunds. */
  readonly refunds?: RefundScript;
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

/** The simulated processor's ledger; it may be in a file, or in another process. */
export interface SimulatedLedger {
  charge(request: LedgerRequest): Promise<LedgerReply>;
  /** Blocks the key of a charge, or returns the outcome of that charge. */
  cancel(key: string): Promise<LedgerCancelReply>;
  refund(request: LedgerRefundRequest): Promise<LedgerRefundReply>;
  /** The charge of a payment. */
  findCharge(paymentId: string): Promise<LedgerCharge | undefined>;
  findChargeById(chargeId: string): Promise<LedgerCharge | undefined>;
  findRefund(refundId: string): Promise<LedgerRefund | undefined>;
  records(): Promise<LedgerRecords>;
}

/**
 * A request with all that chance and the clock decided about it. The first charge or cancellation with a key counts, and the
 * first refund: the same entries in the same order always make the same ledger.
 */
export type LedgerEntry =
  | { readonly kind: 'charge'; readonly charge: LedgerCharge }
  /** A charge that moved no money. */
  | { readonly kind: 'reply'; readonly key: string; readonly reply: LedgerReply }
  | { readonly kind: 'cancellation'; readonly key: string }
  | { readonly kind: 'refund'; readonly refund: LedgerRefund };

/** Tokens that decline: `tok_<decline code>`. */
export const decliningTokens = commonDeclineCodes;

/** Tokens that pay: `tok_<word>`. */
const payingTokens = ['paid', 'visa', 'slow', 'lost_reply'];
/** Tokens that pay, and script the outcome of a refund. */
const refundScripts = ['refund_pending', 'refund_rejected', 'refund_lost_reply'] as const;
type RefundScript = (typeof refundScripts)[number];

export const slowReplyMs = 2_000;

/**
 * A ledger in memory, scripted by its tokens: `tok_paid` (and `tok_visa`, so that a request written for Stripe's
 * test mode works), `tok_<decline code>`, `tok_processor_error`, `tok_slow`, `tok_lost_reply`, and for the refunds of
 * a paid charge `tok_refund_pending`, `tok_refund_rejected`, `tok_refund_lost_reply`. As at a real processor, a repeated
 * key does nothing and returns the first reply.
 */
export class MemoryLedger implements SimulatedLedger {
  readonly charges: LedgerCharge[] = [];
  readonly refunds: LedgerRefund[] = [];
  readonly #chargesByPayment = new Map<string, LedgerCharge>();
  readonly #chargesById = new Map<string, LedgerCharge>();
  readonly #refundsById = new Map<string, LedgerRefund>();
  /** By charge id. */
  readonly #amountsRefunded = new Map<string, number>();
  /** By key. */
  readonly #chargeReplies = new Map<string, LedgerReply>();
  readonly #refundReplies = new Map<string, LedgerRefundReply>();

  async charge(request: LedgerRequest): Promise<LedgerReply> {
    await this.refresh();
    const before = this.#chargeReplies.get(request.key);
    if (before !== undefined) return before;
    if (request.token === 'tok_processor_error') return { kind: 'error' };
    await this.record(entryOf(request));
    const reply = recorded(this.#chargeReplies.get(request.key));
    if (request.token === 'tok_slow') await sleep(slowReplyMs);
    return request.token === 'tok_lost_reply' ? { kind: 'lost' } : reply;
  }

  async cancel(key: string): Promise<LedgerCancelReply> {
    await this.refresh();
    if (!this.#chargeReplies.has(key)) await this.record({ kind: 'cancellation', key });
    const reply = recorded(this.#chargeReplies.get(key));
    return reply === canceledReply ? { kind: 'canceled' } : reply;
  }

  async refund(request: LedgerRefundRequest): Promise<LedgerRefundReply> {
    await this.refresh();
    const before = this.#refundReplies.get(request.key) ?? this.#rejectionOf(request);
    if (before !== undefined) return before;
    const script = this.#chargesById.get(request.chargeId)?.refunds;
    const ledgerRefundId = `re_simulated_${randomBytes(12).toString('hex')}`;
    const refund = { ...request, ledgerRefundId, isPending: script === 'refund_pending' };
    await this.record({ kind: 'refund', refund });
    // Another process may have refunded the rest of the charge before this entry.
    const reply = recorded(this.#refundReplies.get(request.key) ?? this.#rejectionOf(request));
    return script === 'refund_lost_reply' ? { kind: 'lost' } : reply;
  }

  async findCharge(paymentId: string): Promise<LedgerCharge | undefined> {
    await this.refresh();
    return this.#chargesByPayment.get(paymentId);
  }

  async findChargeById(chargeId: string): Promise<LedgerCharge | undefined> {
    await this.refresh();
    return this.#chargesById.get(chargeId);
  }

  async findRefund(refundId: string): Promise<LedgerRefund | undefined> {
    await this.refresh();
    return this.#refundsById.get(refundId);
  }

  async records(): Promise<LedgerRecords> {
    await this.refresh();
    return this;
  }

  /** Applies the entries that other processes have recorded. A ledger in memory has none. */
  protected refresh(): Promise<void> | void {}

  /** Records an entry, and applies it after all that were recorded before it. */
  protected record(entry: LedgerEntry): Promise<void> | void {
    this.apply(entry);
  }

  protected apply(entry: LedgerEntry): void {
    switch (entry.kind) {
      case 'charge':
        if (!this.#chargeReplies.has(entry.charge.key)) this.#applyCharge(entry.charge);
        break;
      case 'reply':
        if (!this.#chargeReplies.has(entry.key)) this.#chargeReplies.set(entry.key, entry.reply);
        break;
      case 'cancellation':
        if (!this.#chargeReplies.has(entry.key)) this.#chargeReplies.set(entry.key, canceledReply);
        break;
      case 'refund':
        if (!this.#refundReplies.has(entry.refund.key) && this.#rejectionOf(entry.refund) === undefined)
          this.#applyRefund(entry.refund);
    }
  }

  #applyCharge(charge: LedgerCharge): void {
    const { key, paymentId, chargeId } = charge;
    this.charges.push(charge);
    if (!this.#chargesByPayment.has(paymentId)) this.#chargesByPayment.set(paymentId, charge);
    this.#chargesById.set(chargeId, charge);
    this.#chargeReplies.set(key, { kind: 'paid', chargeId });
  }

  #applyRefund(refund: LedgerRefund): void {
    const { key, refundId, chargeId, amount, ledgerRefundId, isPending } = refund;
    this.refunds.push(refund);
    this.#refundsById.set(refundId, refund);
    this.#amountsRefunded.set(chargeId, (this.#amountsRefunded.get(chargeId) ?? 0) + amount);
    this.#refundReplies.set(key, { kind: isPending ? 'pending' : 'refunded', ledgerRefundId });
  }

  #rejectionOf({ chargeId, amount }: LedgerRefundRequest): LedgerRefundReply | undefined {
    const charge = this.#chargesById.get(chargeId);
    if (charge === undefined) return { kind: 'no_such_charge' };
    if (charge.refunds === 'refund_rejected') return { kind: 'rejected' };
    const total = (this.#amountsRefunded.get(chargeId) ?? 0) + amount;
    return total > charge.amount ? { kind: 'too_much' } : undefined;
  }
}

/** What a charge request does, by its token. */
function entryOf(request: LedgerRequest): LedgerEntry {
  const { key, token } = request;
  const word = wordOf(token);
  const declineCode = decliningTokens.find((code) => code === word);
  if (declineCode !== undefined) return { kind: 'reply', key, reply: { kind: 'declined', declineCode } };
  const refunds = refundScripts.find((script) => script === word);
  if (refunds === undefined && !payingTokens.some((paying) => paying === word))
    return { kind: 'reply', key, reply: { kind: 'no_such_token' } };
  const chargeId = `ch_simulated_${randomBytes(12).toString('hex')}`;
  const { paymentId, amount, currency } = request;
  const charge = { key, paymentId, amount, currency, chargeId, madeAt: Date.now() };
  return { kind: 'charge', charge: refunds === undefined ? charge : { ...charge, refunds } };
}

/** Throws if an entry was recorded and is not there. */
function recorded<Reply>(reply: Reply | undefined): Reply {
  if (reply === undefined) throw new Error('the simulated ledger has lost an entry');
  return reply;
}

/** The reply to a request with a blocked key. */
const canceledReply: LedgerReply = { kind: 'error' };

function wordOf(token: string): string | undefined {
  return /^tok_([a-z_]+)$/.exec(token)?.[1];
}
