import type { RecordedRequest } from '../processor.ts';

/** A charge request to the simulated processor, as a real processor receives it over its API. */
export interface LedgerRequest {
  readonly key: string;
  readonly paymentId: string;
  readonly amount: number;
  readonly currency: string;
  readonly request?: RecordedRequest;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly token: string;
  /** Where the cardholder returns; without it a charge that needs authentication is declined. */
  readonly returnUrl?: string;
}

export type LedgerReply =
  | { readonly kind: 'paid'; readonly chargeId: string }
  | { readonly kind: 'declined'; readonly declineCode: string }
  /** The cardholder must decide on the challenge with this id. */
  | { readonly kind: 'challenge'; readonly challengeId: string }
  | { readonly kind: 'no_such_token' }
  | { readonly kind: 'error' }
  /** The charge was made, but its reply never arrives. */
  | { readonly kind: 'lost' };

/** Tokens that pay, and script the outcome of a refund. */
export const refundScripts = ['refund_pending', 'refund_rejected', 'refund_lost_reply'] as const;
type RefundScript = (typeof refundScripts)[number];

/** A charge that was made. It has no token: tokens are in no record in clear. */
export interface LedgerCharge extends Omit<LedgerRequest, 'token' | 'returnUrl'> {
  readonly chargeId: string;
  /** Milliseconds since 1970. */
  readonly madeAt: number;
  /** What its token scripts for its refunds. */
  readonly refunds?: RefundScript;
}

/** A charge that waits for its cardholder, or waited. */
export interface LedgerChallenge {
  readonly challengeId: string;
  /** Made when the cardholder approves. */
  readonly charge: LedgerCharge;
  readonly returnUrl: string;
}

export type FoundChallenge = LedgerChallenge & { readonly reply: LedgerReply };

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
  /** As of `ledgerId`. */
  readonly id?: string;
  readonly charges: readonly LedgerCharge[];
  readonly refunds: readonly LedgerRefund[];
}

/** The id of a ledger that has none of its own. */
export const unnamedLedger = 'simulated';

/** The simulated processor's ledger; it may be in a file, or in another process. */
export abstract class SimulatedLedger {
  abstract charge(request: LedgerRequest): Promise<LedgerReply>;
  /** Blocks the key of a charge, or returns the outcome of that charge. */
  abstract cancel(key: string): Promise<LedgerCancelReply>;
  abstract refund(request: LedgerRefundRequest): Promise<LedgerRefundReply>;
  /** A challenge, and what has become of its charge. */
  abstract findChallenge(id: string): Promise<FoundChallenge | undefined>;
  /** The challenges that their cardholders have not decided. */
  abstract openChallenges(): Promise<readonly LedgerChallenge[]>;
  /** Records the decision of the cardholder; the first one counts, and none after a cancellation. */
  abstract decide(challengeId: string, isApproved: boolean): Promise<void>;
  abstract records(): Promise<LedgerRecords>;

  /** The charge of a payment. */
  async findCharge(paymentId: string): Promise<LedgerCharge | undefined> {
    return (await this.records()).charges.find((charge) => charge.paymentId === paymentId);
  }

  async findChargeById(chargeId: string): Promise<LedgerCharge | undefined> {
    return (await this.records()).charges.find((charge) => charge.chargeId === chargeId);
  }

  async findRefund(refundId: string): Promise<LedgerRefund | undefined> {
    return (await this.records()).refunds.find((refund) => refund.refundId === refundId);
  }

  /** Distinguishes this ledger from every other one; `simulated` for one in memory. */
  async ledgerId(): Promise<string> {
    return (await this.records()).id ?? unnamedLedger;
  }
}

/**
 * A request with everything that chance and the clock decided. The first charge or cancellation with a key counts, and the
 * first refund, so the same entries in the same order always make the same ledger.
 */
export type LedgerEntry =
  /** The id of the ledger. Only the first entry of a ledger counts as one; a ledger of an earlier version has none. */
  | { readonly kind: 'ledger'; readonly id: string }
  | { readonly kind: 'charge'; readonly charge: LedgerCharge }
  /** A charge that moved no money. */
  | { readonly kind: 'reply'; readonly key: string; readonly reply: LedgerReply }
  | { readonly kind: 'cancellation'; readonly key: string }
  | { readonly kind: 'challenge'; readonly challenge: LedgerChallenge }
  | { readonly kind: 'decision'; readonly challengeId: string; readonly isApproved: boolean }
  | { readonly kind: 'refund'; readonly refund: LedgerRefund };
