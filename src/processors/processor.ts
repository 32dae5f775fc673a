import type {
  Declined,
  Delivery,
  NotAttempted,
  OpenAttempt,
  ParsedEvent,
  ProcessorCharge,
  RecordedRequest,
  RequiresAction,
  Succeeded,
  Unknown,
} from './reports.ts';

export type {
  NextAction,
  NotAttempted,
  OpenAttempt,
  ProcessorCharge,
  RecordedRequest,
  RequiresAction,
  Unknown,
} from './reports.ts';
export { parseRequestText, requestText } from './reports.ts';

/**
 * The port to a payment processor. An adapter makes no decision about a payment: it calls the processor and returns
 * exactly what the reply proves. Amounts are integers in the smallest unit of the currency (ISO 4217), currencies are
 * upper case. No method rejects for a failure of the processor or the network: that is an outcome.
 */
export interface Processor {
  /** The processor's path segment, one of `processorNames`. */
  readonly name: string;

  /** Whether its charges move real money. Only a processor that says no may be served without API keys. */
  readonly movesMoney: boolean;

  /** How long the processor is sure to remember a `processorKey`. A later repeat may charge or refund again. */
  readonly keyLifeMs: number;

  /**
   * How long `cancelCharge` may return `unknown` for a charge that was not made, after the last request for it timed out, although
   * the processor responds. In milliseconds.
   */
  readonly cancelMsMax: number;

  /** Whether the processor charges this token only once, so that the token itself is an idempotency key. */
  isSingleUse(token: string): boolean;

  /** Requests one charge. A second call with the same `processorKey` and the same request must not charge again. */
  charge(request: ChargeRequest): Promise<ChargeOutcome>;

  /** Looks up the charge of a payment; requests none. Concurrent calls share one listing. */
  findCharge(sought: SoughtCharge): Promise<LookUp<ChargeOutcome>>;

  /**
   * Cancels a charge with an unknown outcome, or one that waits for the cardholder's authentication (`attemptId`). Returns
   * `canceled` only when nothing was charged and nothing can be charged any more, even if an earlier request is still on
   * its way, or the cardholder authenticates later or tries another card; and `declined` only without an open attempt. Safe to
   * repeat.
   */
  cancelCharge(canceled: CanceledCharge): Promise<CancelOutcome>;

  /** Requests one refund; as safe to repeat as `charge`. */
  refund(request: RefundRequest): Promise<RefundOutcome>;

  /** Looks up a refund; requests none. */
  findRefund(sought: SoughtRefund): Promise<LookUp<RefundOutcome>>;

  /** Parses an event from the processor after checking its signature in constant time. */
  readEvent(delivery: Delivery): Promise<ParsedEvent>;
}

/** The port to the account that the key belongs to, and to its records. Everything only reads. */
export interface ProcessorAccount {
  readonly name: string;

  /** The account's id. Payments store it, so that another account's records never count as proof. */
  account(timeoutMs: number): Promise<Account>;

  /** Whether the processor is reachable and accepts our key. */
  check(timeoutMs: number): Promise<Check>;

  /** Every charge made in a period, also by other systems. Rejects when the list cannot be read to its end. */
  charges(period: Period): AsyncIterable<ProcessorCharge>;

  /**
   * Attempts of ours, begun in a period, that a cardholder can still confirm, and so charge. Rejects when the list cannot be
   * read to its end.
   */
  openAttempts(period: Period): AsyncIterable<OpenAttempt>;

  /** Returns the payment id stored in the charge's metadata. */
  findOwner(chargeId: string, timeoutMs: number): Promise<Owner | Unknown>;
}

/** The path segments of all processors; `simulated` is served only when asked for. */
export const processorNames = ['stripe', 'square', 'simulated'] as const;
export type ProcessorName = (typeof processorNames)[number];

/** Frequent decline codes. The list is open: a processor may decline with any word of its own. */
export const commonDeclineCodes = [
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

/** A processor with a key in the settings. */
export type ConnectedProcessor = Processor & ProcessorAccount;

/** What the shop and the cardholder see of a charge at the processor. An adapter leaves out what its processor cannot take. */
export interface ChargeDetails {
  readonly metadata?: Readonly<Record<string, string>>;
  readonly description?: string;
  readonly statementDescriptorSuffix?: string;
  /** The processor sends its receipt to this address. */
  readonly receiptEmail?: string;
}

/** The fields of a request that a processor may reject. */
export type ChargeParam =
  | 'amount'
  | 'currency'
  | 'token'
  | 'metadata'
  | 'description'
  | 'statement_descriptor_suffix'
  | 'receipt_email';

export interface ChargeRequest extends ChargeDetails {
  /** Our payment id, stored at the processor so that the charge can be found by it. */
  readonly paymentId: string;
  /** Our random idempotency key for the processor; of the caller's key only a digest leaves the service, in `request`. */
  readonly processorKey: string;
  readonly amount: number;
  readonly currency: string;
  /** Stored in the processor's records, as far as it can keep it. */
  readonly request?: RecordedRequest;
  readonly token: string;
  /**
   * The same for all payments of one caller's request, so that exchanging the token again returns the same payment
   * method.
   */
  readonly tokenKey: string;
  /** Where the cardholder returns after authenticating. Without it a charge that needs authentication is declined. */
  readonly returnUrl?: string;
  /** Stop waiting after this long. */
  readonly timeoutMs: number;
  /** Recovery stays below the processor's rate limit, so that it never delays a buyer. */
  readonly isRecovery?: boolean;
}

export type ChargeOutcome =
  | Succeeded
  | Declined
  | RequiresAction
  /** The processor rejects this request for good: nothing was charged, and a retry changes nothing. */
  | {
      readonly kind: 'rejected';
      readonly param?: ChargeParam;
      readonly message: string;
      readonly detail: string;
    }
  | NotAttempted
  | Unknown;

export interface RefundRequest {
  /** Our refund id, stored at the processor so that the refund can be found by it. */
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
  /** The processor has made the refund. It may still fail if the cardholder's bank returns the money. */
  | { readonly kind: 'succeeded'; readonly processorRefundId: string }
  /** The processor has accepted the refund and will make it. */
  | { readonly kind: 'pending'; readonly processorRefundId: string }
  /** The processor accepted the refund, then it failed; we still have the money. */
  | { readonly kind: 'failed'; readonly processorRefundId: string }
  /** The processor rejects the refund for good; a retry changes nothing. `isDisputed`: because the charge is disputed. */
  | {
      readonly kind: 'rejected';
      readonly message: string;
      readonly detail: string;
      readonly isDisputed?: boolean;
    }
  | NotAttempted
  | Unknown;

/** `absent`: the processor's list was read to its end and does not contain it. */
export type LookUp<Outcome> = Outcome | { readonly kind: 'absent' };

/** `withheld`: the key may not read the account. `mode`: absent if the key and its address do not show it. */
export type Account =
  | { readonly kind: 'account'; readonly id: string; readonly mode?: Mode }
  | { readonly kind: 'withheld'; readonly mode?: Mode }
  | Unknown;

/** Whether charges move money. A processor keeps the records of the two apart. */
export type Mode = 'live' | 'test';

export type CancelOutcome = { readonly kind: 'canceled' } | Succeeded | Declined | Unknown;

/** `rejected`: the processor responds, but rejects our key: it is wrong or lacks a permission. */
export type Check =
  | { readonly kind: 'well' }
  | { readonly kind: 'rejected'; readonly detail: string }
  | Unknown;

export interface Owner {
  readonly kind: 'owner';
  /** Undefined if the charge does not exist or another system made it. */
  readonly paymentId: string | undefined;
  /** Whether the charge has moved money. */
  readonly isPaid: boolean;
}

export interface SoughtCharge {
  readonly paymentId: string;
  /** The earliest and the latest time at which the charge may have been requested, in milliseconds since 1970. */
  readonly requestedFrom: number;
  readonly requestedUntil: number;
  /** From `RequiresAction`, if the charge needed authentication. */
  readonly attemptId?: string;
  readonly timeoutMs: number;
}

export interface CanceledCharge extends SoughtCharge {
  /** The key that the charge was sent with. */
  readonly processorKey: string;
  readonly currency: string;
  /** Milliseconds since the last request for it timed out; negative while one may be under way. */
  readonly silentMs: number;
  /** A caller waits for it, so it takes no turn of recovery. */
  readonly isUrgent?: boolean;
}

export interface SoughtRefund {
  readonly refundId: string;
  readonly chargeId: string;
  readonly timeoutMs: number;
}

/** In milliseconds since 1970; `until` is exclusive. */
export interface Period {
  readonly from: number;
  readonly until: number;
}
