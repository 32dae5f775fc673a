import type { IncomingHttpHeaders } from 'node:http';

/** The events of a processor, as its adapter reports them. */

/** A webhook request from the processor, unparsed. */
export interface Delivery {
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** Milliseconds since 1970. */
  readonly receivedAt: number;
}

export type ParsedEvent =
  /** The settings have no secret to check signatures with. */
  | { readonly kind: 'not_configured' }
  /** The signature is invalid or too old; `detail` says which. */
  | { readonly kind: 'invalid_signature'; readonly detail: string }
  /** The event holds nothing that this service stores. */
  | { readonly kind: 'irrelevant' }
  | { readonly kind: 'event'; readonly event: ProcessorEvent };

export interface ProcessorEvent {
  /** The same when it is delivered again. */
  readonly id: string;
  /** When it happened, in milliseconds since 1970; events arrive in any order. */
  readonly happenedAt: number;
  readonly change: ChargeChange | RefundChange | DisputeChange;
}

/** The money has moved. */
export interface Succeeded {
  readonly kind: 'succeeded';
  readonly chargeId: string;
  /** What the processor reports to have taken; absent if this report names no amount. */
  readonly taken?: Money;
}

export interface Money {
  /** In the smallest unit of the currency (ISO 4217). */
  readonly amount: number;
  /** ISO 4217, upper case. */
  readonly currency: string;
}

/** The issuer or the processor's risk rules declined; nothing was charged. */
export interface Declined {
  readonly kind: 'declined';
  readonly declineCode: string;
  readonly authenticationRequired: boolean;
  /**
   * The processor's id of an attempt that is still open: a page with its secret can confirm it again, also with another card.
   * Absent if nothing can be charged for this payment any more.
   */
  readonly openAttemptId?: string;
}

export interface ChargeChange {
  readonly about: 'charge';
  readonly paymentId: string;
  readonly outcome: Succeeded | Declined;
}

export interface RefundChange {
  readonly about: 'refund';
  readonly chargeId: string;
  readonly processorRefundId: string;
  /** Undefined if another system requested the refund. */
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
  /** Whether the processor has taken the money back: the dispute is a chargeback, and not an inquiry, and is not won. */
  readonly isWithdrawn: boolean;
}
