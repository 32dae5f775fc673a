import type { IncomingHttpHeaders } from 'node:http';

/**
 * The port to a payment processor. An adapter makes no decision about a payment: it asks, and says exactly what
 * is known of the answer. Amounts are integers in the smallest unit of the currency (ISO 4217), currencies upper
 * case. No method rejects for what a processor or a network can do: that is an outcome.
 */
export interface Processor {
  /** The path segment that names it. */
  readonly name: string;

  /** For how long it surely remembers a `processorKey`; after that asking again may charge, or refund, again. */
  readonly keyLifeMs: number;

  /** Whether the processor lets this token be charged once only, so that the token itself is an idempotency key. */
  isSingleUse(token: string): boolean;

  /**
   * Asks for one charge. Called again with the same `processorKey` and the same request it must not charge a
   * second time.
   */
  charge(request: ChargeRequest): Promise<ChargeOutcome>;

  /** Looks for the charge of a payment and asks for none. Calls at the same time share one listing. */
  findCharge(sought: SoughtCharge): Promise<LookUp<ChargeOutcome>>;

  /**
   * Ends a charge whose outcome is unknown. `canceled` is returned only when nothing was charged and nothing can be
   * charged any more, even if an earlier request is still on its way. Safe to repeat.
   */
  cancelCharge(canceled: CanceledCharge): Promise<CancelOutcome>;

  /** Asks for one refund; as safe to repeat as `charge`. */
  refund(request: RefundRequest): Promise<RefundOutcome>;

  /** Looks for a refund and asks for none. */
  findRefund(sought: SoughtRefund): Promise<LookUp<RefundOutcome>>;

  /** Returns the payment id stored in the charge's metadata. */
  findOwner(chargeId: string, timeoutMs: number): Promise<Owner | Unknown>;

  /** Every charge that was made in a period, whoever asked for it. Rejects when the list cannot be read to its end. */
  charges(period: Period): AsyncIterable<ProcessorCharge>;

  /** Whose books these are. Payments keep it, so that another account's books are never taken for proof. */
  account(timeoutMs: number): Promise<Account>;

  /** Whether it can be reached and takes our key, by a call that changes nothing. */
  check(timeoutMs: number): Promise<Check>;

  /** Reads an event that the processor has sent, having checked its signature in constant time. */
  readEvent(delivery: Delivery): Promise<ParsedEvent>;
}

export interface ChargeRequest {
  /** Our payment id, left with the processor so that the charge can be found by it. */
  readonly paymentId: string;
  /** Our own random idempotency key towards the processor; the caller's key never leaves the service. */
  readonly processorKey: string;
  readonly amount: number;
  readonly currency: string;
  readonly token: string;
  /**
   * The same for every payment that one request of a caller makes, so that a token that was exchanged for an earlier one
   * is exchanged for the same thing again.
   */
  readonly tokenKey: string;
  /** Give up waiting after this long. */
  readonly timeoutMs: number;
  /** Recovery keeps below the processor's limit of calls; a buyer who waits does not wait for recovery. */
  readonly isRecovery?: boolean;
}

export type ChargeOutcome =
  /** The money has moved. */
  | { readonly kind: 'succeeded'; readonly chargeId: string }
  /** The issuer or the processor's risk rules said no; nothing was charged. */
  | { readonly kind: 'declined'; readonly declineCode: string; readonly authenticationRequired: boolean }
  /** The processor will not take this request; nothing was charged, and asking again changes nothing. */
  | {
      readonly kind: 'refused';
      readonly param?: 'amount' | 'currency' | 'token';
      readonly message: string;
      readonly detail: string;
    }
  | NotTaken
  | Unknown;

export interface RefundRequest {
  /** Our refund id, left with the processor so that the refund can be found by it. */
  readonly refundId: string;
  readonly paymentId: string;
  readonly chargeId: string;
  readonly processorKey: string;
  readonly amount: number;
  readonly currency: string;
  readonly timeoutMs: number;
  readonly isRecovery?: boolean;
}

export type RefundOutcome =
  /** The processor has carried it out. It may still fail, when the cardholder's bank sends the money back. */
  | { readonly kind: 'succeeded'; readonly processorRefundId: string }
  /** The processor has taken it and will carry it out. */
  | { readonly kind: 'pending'; readonly processorRefundId: string }
  /** It was taken and came to nothing; the money is with us. */
  | { readonly kind: 'failed'; readonly processorRefundId: string }
  /** The processor will not take it; asking again changes nothing. */
  | { readonly kind: 'refused'; readonly message: string; readonly detail: string }
  | NotTaken
  | Unknown;

/**
 * Nothing was done: no byte of the request left, or the only request that was sent was turned away before the processor
 * looked at it. After a second send, by whomever, a rejection is `unknown`.
 */
export interface NotTaken {
  readonly kind: 'not_attempted';
  readonly detail: string;
}

/** Anything else: it may or may not have been done. */
export interface Unknown {
  readonly kind: 'unknown';
  readonly detail: string;
}

/** `absent`: the processor's list was read to its end, and it is not in it. */
export type LookUp<Outcome> = Outcome | { readonly kind: 'absent' };

/** `withheld`: the key may not read the account. */
export type Account =
  | { readonly kind: 'account'; readonly id: string }
  | { readonly kind: 'withheld' }
  | Unknown;

export type CancelOutcome =
  | { readonly kind: 'canceled' }
  | Extract<ChargeOutcome, { kind: 'succeeded' | 'declined' }>
  | Unknown;

/** `refused`: it answers, and not to us: the key is wrong, or may not do what is needed. */
export type Check =
  | { readonly kind: 'well' }
  | { readonly kind: 'refused'; readonly detail: string }
  | Unknown;

export interface Owner {
  readonly kind: 'owner';
  /** Undefined if the charge does not exist or was not made by this service. */
  readonly paymentId: string | undefined;
  /** Whether the charge has moved money. */
  readonly isPaid: boolean;
}

export interface SoughtCharge {
  readonly paymentId: string;
  /** When the processor may have been asked first, and last, in milliseconds since 1970. */
  readonly askedFrom: number;
  readonly askedUntil: number;
  readonly timeoutMs: number;
}

export interface CanceledCharge extends SoughtCharge {
  /** The key of the charge, as it was sent. */
  readonly processorKey: string;
  readonly currency: string;
  /** How long ago the last request for it was given up, in milliseconds; negative while one may be under way. */
  readonly silentMs: number;
}

export interface SoughtRefund {
  readonly refundId: string;
  readonly chargeId: string;
  readonly timeoutMs: number;
}

/** In milliseconds since 1970; `until` is not part of it. */
export interface Period {
  readonly from: number;
  readonly until: number;
}

/** A charge as the processor has it on its books. */
export interface ProcessorCharge {
  readonly chargeId: string;
  /** Undefined for one that somebody else asked for. */
  readonly paymentId: string | undefined;
  readonly amount: number;
  readonly amountRefunded: number;
  readonly currency: string;
}

/** A request of the processor's, as it came. */
export interface Delivery {
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** Milliseconds since 1970. */
  readonly receivedAt: number;
}

export type ParsedEvent =
  /** The settings have no secret to check signatures with. */
  | { readonly kind: 'not_configured' }
  /** It was not the processor that signed this, or too long ago; `detail` says which. */
  | { readonly kind: 'forged'; readonly detail: string }
  /** It says nothing that this service keeps. */
  | { readonly kind: 'irrelevant' }
  | { readonly kind: 'event'; readonly event: ProcessorEvent };

export interface ProcessorEvent {
  /** The same when it is delivered again. */
  readonly id: string;
  /** When it happened, in milliseconds since 1970; events arrive in any order. */
  readonly happenedAt: number;
  readonly news: ChargeChange | RefundChange | DisputeChange;
}

export interface ChargeChange {
  readonly about: 'charge';
  readonly paymentId: string;
  readonly outcome: Extract<ChargeOutcome, { kind: 'succeeded' | 'declined' }>;
}

export interface RefundChange {
  readonly about: 'refund';
  readonly chargeId: string;
  readonly processorRefundId: string;
  /** Undefined for one that was not asked for by this service. */
  readonly refundId: string | undefined;
  readonly amount: number;
  readonly state: 'pending' | 'succeeded' | 'failed';
}

export interface DisputeChange {
  readonly about: 'dispute';
  readonly chargeId: string;
  readonly disputeId: string;
  readonly amount: number;
  /** In the processor's words. */
  readonly status: string;
  readonly reason: string;
}
