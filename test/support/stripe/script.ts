import type { Reply } from './replies.ts';

/** The effect of the word of a token on its requests. */
export interface Script {
  /** Sent instead of the result. */
  readonly error?: Reply;
  /** Whether the money moves in spite of the error. */
  readonly charges?: boolean;
  /** What it charges instead of the requested amount. */
  readonly takes?: { readonly amount: number };
  /** The card is declined: error code, and decline code where the issuer gives one. */
  readonly decline?: { readonly code: string; readonly decline_code?: string };
  /** The state of the PaymentIntent at the reply: unconfirmed forever, or decided by `repair`. */
  readonly leaves?: 'requires_confirmation' | 'processing';
  /** The request is processed until `repair`; its PaymentIntent exists and is not confirmed. */
  readonly isWorkedOn?: boolean;
  /** The request waits until `repair`: its key is in use, and the records have nothing of it yet. */
  readonly isQueued?: boolean;
  readonly methodError?: Reply;
  readonly methodDecline?: Script['decline'];
  readonly refundError?: Reply;
  /** Whether the refund is made in spite of its error. */
  readonly refunds?: boolean;
  readonly refundStatus?: 'pending' | 'failed';
  readonly delivery?: { readonly of: Call; readonly fault: Fault };
  readonly pair?: Pair;
  /** The bank wants the cardholder to authenticate: with a `return_url` the intent waits for that. */
  readonly requiresAction?: boolean;
  /** Whether `repair` ends the error. */
  readonly passes?: boolean;
}

/** A request that makes something: a PaymentMethod, a PaymentIntent or a refund. */
export type Call = 'method' | 'intent' | 'refund';

/** The fault of a reply on its way, until `repair`; the request itself is executed. */
export type Fault = 'dropped' | 'reset' | 'dropped late' | 'held' | 'delayed' | 'cut' | 'malformed';

/**
 * Two consecutive faults, as a caller whose library retries by itself meets them: the first request with a key is lost,
 * and every later one with the same key is rejected before processing, until `repair`.
 */
export interface Pair {
  readonly of: Call;
  readonly loss: Loss;
  readonly rejection: Reply;
}

export type Loss = 'reset before' | 'reset after' | 'cut';
