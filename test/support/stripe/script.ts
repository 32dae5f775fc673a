import type { Reply } from './replies.ts';

/** What the word of a token does to what is done with it. */
export interface Script {
  /** Answered instead of what was done. */
  readonly error?: Reply;
  /** Whether the money moves in spite of the error. */
  readonly charges?: boolean;
  /** The card is declined: error code, and decline code where the issuer gives one. */
  readonly decline?: { readonly code: string; readonly decline_code?: string };
  /** Where the PaymentIntent is left when it is answered: unconfirmed for good, or decided by `repair`. */
  readonly leaves?: 'requires_confirmation' | 'processing';
  /** The request is worked on until `repair`, with the PaymentIntent there and not confirmed. */
  readonly isWorkedOn?: boolean;
  /** The request waits until `repair`: its key is in use, and nothing is on the books yet. */
  readonly isQueued?: boolean;
  readonly methodError?: Reply;
  readonly methodDecline?: Script['decline'];
  readonly refundError?: Reply;
  /** Whether the refund is made in spite of its error. */
  readonly refunds?: boolean;
  readonly refundStatus?: 'pending' | 'failed';
  readonly delivery?: { readonly of: Call; readonly fault: Fault };
  readonly pair?: Pair;
  /** Whether `repair` ends the error. */
  readonly passes?: boolean;
}

/** A request that makes something: a PaymentMethod, a PaymentIntent or a refund. */
export type Call = 'method' | 'intent' | 'refund';

/** How a reply is spoiled on its way, until `repair`; what was done is done. */
export type Fault = 'dropped' | 'reset' | 'dropped late' | 'held' | 'delayed' | 'cut' | 'malformed';

/**
 * Two faults, one after the other, as a caller meets them whose library sends once more by itself: what arrives first
 * under a key is lost, and whatever arrives later under the same key is turned away at the door, until `repair`.
 */
export interface Pair {
  readonly of: Call;
  readonly loss: Loss;
  readonly rejection: Reply;
}

export type Loss = 'reset before' | 'reset after' | 'cut';
