import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

/** What a simulated processor is asked, and what it answers as a real one would over its API. */
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
  /** The charge was made, and the reply to it never arrives. */
  | { readonly kind: 'lost' };

export interface LedgerCharge extends LedgerRequest {
  readonly chargeId: string;
}

/** The simulated processor's side of the wire; it may live in another process. */
export interface SimulatedLedger {
  charge(request: LedgerRequest): Promise<LedgerReply>;
}

/** Tokens that decline, in the words of the decline code they answer. */
export const decliningTokens = [
  'card_declined',
  'insufficient_funds',
  'lost_card',
  'stolen_card',
  'expired_card',
  'incorrect_cvc',
  'fraudulent',
  'processing_error',
  'authentication_required',
] as const;

export const slowReplyMs = 2_000;

/**
 * A ledger in memory, scripted by its tokens: `tok_paid` (and `tok_visa`, so that a request written for Stripe's
 * test mode works), `tok_<decline code>`, `tok_processor_error`, `tok_slow`, `tok_lost_reply`. As at a real
 * processor a key is answered once: the same key again gets the first answer and charges nothing.
 */
export class MemoryLedger implements SimulatedLedger {
  readonly charges: LedgerCharge[] = [];
  readonly #answered = new Map<string, LedgerReply>();

  async charge(request: LedgerRequest): Promise<LedgerReply> {
    const before = this.#answered.get(request.key);
    if (before !== undefined) return before;
    if (request.token === 'tok_processor_error') return { kind: 'error' };
    const reply = this.#decide(request);
    this.#answered.set(request.key, reply);
    if (request.token === 'tok_slow') await sleep(slowReplyMs);
    return request.token === 'tok_lost_reply' ? { kind: 'lost' } : reply;
  }

  #decide(request: LedgerRequest): LedgerReply {
    const word = /^tok_([a-z_]+)$/.exec(request.token)?.[1];
    const declineCode = decliningTokens.find((code) => code === word);
    if (declineCode !== undefined) return { kind: 'declined', declineCode };
    if (word === undefined || !['paid', 'visa', 'slow', 'lost_reply'].includes(word))
      return { kind: 'no_such_token' };
    const chargeId = `ch_simulated_${randomBytes(12).toString('hex')}`;
    this.charges.push({ ...request, chargeId });
    return { kind: 'paid', chargeId };
  }
}

/** A ledger in a process of its own, over HTTP on loopback. */
export class RemoteLedger implements SimulatedLedger {
  readonly #origin: string;

  constructor(origin: string) {
    this.#origin = origin;
  }

  async charge(request: LedgerRequest): Promise<LedgerReply> {
    const response = await fetch(`${this.#origin}/charges`, {
      method: 'POST',
      body: JSON.stringify(request),
    });
    return (await response.json()) as LedgerReply;
  }
}
