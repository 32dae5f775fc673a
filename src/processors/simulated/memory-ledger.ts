import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { defined } from '../../defined.ts';
import { commonDeclineCodes } from '../processor.ts';
import {
  type FoundChallenge,
  type LedgerCancelReply,
  type LedgerChallenge,
  type LedgerCharge,
  type LedgerEntry,
  type LedgerRecords,
  type LedgerRefund,
  type LedgerRefundReply,
  type LedgerRefundRequest,
  type LedgerReply,
  type LedgerRequest,
  refundScripts,
  SimulatedLedger,
  unnamedLedger,
} from './ledger.ts';

/**
 * A ledger in memory, scripted by its tokens: `tok_paid` (and `tok_visa`, so that a request written for Stripe's
 * test mode works), `tok_<decline code>`, `tok_processor_error`, `tok_slow`, `tok_lost_reply`, `tok_requires_action`, and for the refunds of
 * a paid charge `tok_refund_pending`, `tok_refund_rejected`, `tok_refund_lost_reply`. As at a real processor, a repeated
 * key does nothing and returns the first reply.
 */
export class MemoryLedger extends SimulatedLedger {
  id: string = unnamedLedger;
  #isNew = true;
  readonly charges: LedgerCharge[] = [];
  readonly refunds: LedgerRefund[] = [];
  readonly #chargesById = new Map<string, LedgerCharge>();
  /** By charge id. */
  readonly #amountsRefunded = new Map<string, number>();
  /** By key. */
  readonly #chargeReplies = new Map<string, LedgerReply>();
  readonly #refundReplies = new Map<string, LedgerRefundReply>();
  /** By their ids. */
  readonly #challenges = new Map<string, LedgerChallenge>();

  async charge(request: LedgerRequest): Promise<LedgerReply> {
    await this.refresh();
    const before = this.#chargeReplies.get(request.key);
    if (before !== undefined) return before;
    if (request.token === 'tok_processor_error') return { kind: 'error' };
    await this.record(requestEntry(request));
    const reply = recorded(this.#chargeReplies.get(request.key));
    if (request.token === 'tok_slow') await sleep(slowReplyMs);
    return request.token === 'tok_lost_reply' ? { kind: 'lost' } : reply;
  }

  async cancel(key: string): Promise<LedgerCancelReply> {
    await this.refresh();
    const before = this.#chargeReplies.get(key);
    if (before === undefined || before.kind === 'challenge') await this.record({ kind: 'cancellation', key });
    const reply = recorded(this.#chargeReplies.get(key));
    return reply === canceledReply ? { kind: 'canceled' } : reply;
  }

  async refund(request: LedgerRefundRequest): Promise<LedgerRefundReply> {
    await this.refresh();
    const before = this.#refundReplies.get(request.key) ?? this.#rejection(request);
    if (before !== undefined) return before;
    const script = this.#chargesById.get(request.chargeId)?.refunds;
    const ledgerRefundId = `re_simulated_${randomBytes(12).toString('hex')}`;
    const refund = { ...request, ledgerRefundId, isPending: script === 'refund_pending' };
    await this.record({ kind: 'refund', refund });
    // Another process may have refunded the rest of the charge before this entry.
    const reply = recorded(this.#refundReplies.get(request.key) ?? this.#rejection(request));
    return script === 'refund_lost_reply' ? { kind: 'lost' } : reply;
  }

  async findChallenge(id: string): Promise<FoundChallenge | undefined> {
    await this.refresh();
    const challenge = this.#challenges.get(id);
    if (challenge === undefined) return undefined;
    return { ...challenge, reply: recorded(this.#chargeReplies.get(challenge.charge.key)) };
  }

  async openChallenges(): Promise<readonly LedgerChallenge[]> {
    await this.refresh();
    return [...this.#challenges.values()].filter(
      ({ charge }) => this.#chargeReplies.get(charge.key)?.kind === 'challenge',
    );
  }

  async decide(challengeId: string, isApproved: boolean): Promise<void> {
    await this.refresh();
    if (this.#challenges.has(challengeId)) await this.record({ kind: 'decision', challengeId, isApproved });
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
    const isFirst = this.#isNew;
    this.#isNew = false;
    switch (entry.kind) {
      case 'ledger':
        if (isFirst) this.id = entry.id;
        break;
      case 'charge':
        if (!this.#chargeReplies.has(entry.charge.key)) this.#applyCharge(entry.charge);
        break;
      case 'reply':
        if (!this.#chargeReplies.has(entry.key)) this.#chargeReplies.set(entry.key, entry.reply);
        break;
      case 'cancellation':
        if ((this.#chargeReplies.get(entry.key)?.kind ?? 'challenge') === 'challenge')
          this.#chargeReplies.set(entry.key, canceledReply);
        break;
      case 'challenge':
        if (!this.#chargeReplies.has(entry.challenge.charge.key)) this.#applyChallenge(entry.challenge);
        break;
      case 'decision':
        this.#applyDecision(entry.challengeId, entry.isApproved);
        break;
      case 'refund':
        if (!this.#refundReplies.has(entry.refund.key) && this.#rejection(entry.refund) === undefined)
          this.#applyRefund(entry.refund);
    }
  }

  #applyCharge(charge: LedgerCharge): void {
    const { key, chargeId } = charge;
    this.charges.push(charge);
    this.#chargesById.set(chargeId, charge);
    this.#chargeReplies.set(key, { kind: 'paid', chargeId });
  }

  #applyChallenge(challenge: LedgerChallenge): void {
    const { challengeId, charge } = challenge;
    this.#challenges.set(challengeId, challenge);
    this.#chargeReplies.set(charge.key, { kind: 'challenge', challengeId });
  }

  #applyDecision(challengeId: string, isApproved: boolean): void {
    const charge = this.#challenges.get(challengeId)?.charge;
    if (charge === undefined || this.#chargeReplies.get(charge.key)?.kind !== 'challenge') return;
    if (isApproved) this.#applyCharge(charge);
    else this.#chargeReplies.set(charge.key, { kind: 'declined', declineCode: 'authentication_required' });
  }

  #applyRefund(refund: LedgerRefund): void {
    const { key, chargeId, amount, ledgerRefundId, isPending } = refund;
    this.refunds.push(refund);
    this.#amountsRefunded.set(chargeId, (this.#amountsRefunded.get(chargeId) ?? 0) + amount);
    this.#refundReplies.set(key, { kind: isPending ? 'pending' : 'refunded', ledgerRefundId });
  }

  #rejection({ chargeId, amount }: LedgerRefundRequest): LedgerRefundReply | undefined {
    const charge = this.#chargesById.get(chargeId);
    if (charge === undefined) return { kind: 'no_such_charge' };
    if (charge.refunds === 'refund_rejected') return { kind: 'rejected' };
    const total = (this.#amountsRefunded.get(chargeId) ?? 0) + amount;
    return total > charge.amount ? { kind: 'too_much' } : undefined;
  }
}

/** Throws if an entry was recorded and is not there. */
function recorded<Reply>(reply: Reply | undefined): Reply {
  if (reply === undefined) throw new Error('the simulated ledger has lost an entry');
  return reply;
}

/** The reply to a request with a blocked key. */
const canceledReply: LedgerReply = { kind: 'error' };

/** Tokens that decline: `tok_<decline code>`. */
export const decliningTokens = commonDeclineCodes;

/** Tokens that pay: `tok_<word>`. */
const payingTokens = ['paid', 'visa', 'slow', 'lost_reply'];

export const slowReplyMs = 2_000;

/** What a charge request does, by its token. */
function requestEntry(request: LedgerRequest): LedgerEntry {
  const { key, token } = request;
  const word = /^tok_([a-z_]+)$/.exec(token)?.[1];
  const declineCode = decliningTokens.find((code) => code === word);
  if (declineCode !== undefined) return { kind: 'reply', key, reply: { kind: 'declined', declineCode } };
  if (word === 'requires_action') return newChallenge(request);
  const refunds = refundScripts.find((script) => script === word);
  if (refunds === undefined && !payingTokens.some((paying) => paying === word))
    return { kind: 'reply', key, reply: { kind: 'no_such_token' } };
  const charge = newCharge(request);
  return { kind: 'charge', charge: refunds === undefined ? charge : { ...charge, refunds } };
}

function newCharge({ key, paymentId, amount, currency, request, metadata }: LedgerRequest): LedgerCharge {
  const chargeId = `ch_simulated_${randomBytes(12).toString('hex')}`;
  const optional = defined({ request, metadata });
  return { key, paymentId, amount, currency, chargeId, madeAt: Date.now(), ...optional };
}

function newChallenge(request: LedgerRequest): LedgerEntry {
  const { key, returnUrl } = request;
  if (returnUrl === undefined)
    return { kind: 'reply', key, reply: { kind: 'declined', declineCode: 'authentication_required' } };
  const challengeId = randomBytes(16).toString('hex');
  return { kind: 'challenge', challenge: { challengeId, charge: newCharge(request), returnUrl } };
}
