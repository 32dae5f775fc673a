import type { IncomingHttpHeaders } from 'node:http';
import { defined } from '../defined.ts';

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

/** The cardholder must authenticate this attempt at their bank; nothing is charged before. */
export interface RequiresAction {
  readonly kind: 'requires_action';
  /** The processor's id of the attempt. */
  readonly attemptId: string;
  readonly action: NextAction;
}

/** What the cardholder must do next, as callers receive it. */
export interface NextAction {
  readonly type: 'redirect';
  /** The bank's page. It sends the cardholder on to `returnUrl`. */
  readonly url: string;
  /** For pages that show the bank's page with the processor's own script. */
  readonly client_secret?: string;
}

/**
 * Nothing was done: no byte of the request was sent, or the only request sent was rejected before the processor read
 * it. After any second send a rejection is `unknown`.
 */
export interface NotAttempted {
  readonly kind: 'not_attempted';
  readonly detail: string;
}

/** Everything else: the request may or may not have been carried out. */
export interface Unknown {
  readonly kind: 'unknown';
  readonly detail: string;
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

/** What a processor keeps of a charge, as far as a restored store needs it. */

/** A charge in the processor's records. */
export interface ProcessorCharge extends RecordedCharge {
  readonly chargeId: string;
  /** Undefined if another system requested the charge. */
  readonly paymentId: string | undefined;
  readonly amountRefunded: number;
}

/** An attempt in the processor's records that waits for a cardholder, or for another card. */
export interface OpenAttempt extends RecordedCharge {
  readonly attemptId: string;
  readonly paymentId: string;
}

interface RecordedCharge {
  readonly amount: number;
  readonly currency: string;
  /** As the charge was requested with; absent if the processor does not keep it. */
  readonly request?: RecordedRequest;
  /** The caller's metadata; absent if the processor has none, or keeps none. */
  readonly metadata?: Readonly<Record<string, string>>;
}

/** What a restored store needs to know the request of a charge again. */
export interface RecordedRequest {
  readonly route?: string;
  /** The digest of the caller's idempotency key. */
  readonly keyEntry?: string;
}

/** As text for a processor that keeps texts; neither part has a space. */
export function requestText({ route = '', keyEntry }: RecordedRequest): string {
  return keyEntry === undefined ? route : `${route} ${keyEntry}`;
}

/** @param text of `requestText` */
export function parseRequestText(text: string): RecordedRequest {
  const [route = '', keyEntry] = text.split(' ');
  return { route, ...defined({ keyEntry }) };
}
