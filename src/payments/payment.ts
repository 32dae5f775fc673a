import { hash } from 'node:crypto';
import type { StoredResponse } from '../envelope.ts';
import type { Mode } from '../processors/processor.ts';
import { idsFrom, randomBytes, timeOrderedId } from '../random.ts';
import type { EphemeralContext } from '../secrets/sealer.ts';
import type { ChargeState } from './charge-state.ts';
import type { Refund } from './refund-state.ts';

/**
 * The record of one payment, with its refunds and disputes. It is stored for ever in `service:payments` under its id.
 */
export interface Payment {
  readonly id: string;
  readonly state: ChargeState;
  /** Present if the store lacked the payment after a restore and adopted it from the processor's records. */
  readonly isAdopted?: true;
  /**
   * Present if the processor's records do not show whether an adopted payment was requested with an idempotency key,
   * and with which.
   */
  readonly isKeyUnknown?: true;
  readonly processor: string;
  /** The processor account; absent if the processor's key may not read it. */
  readonly account?: string;
  /**
   * Whether the account is live or in test mode. Absent if the processor's key does not show it, and in payments of
   * earlier versions.
   */
  readonly mode?: Mode;
  readonly route: string;
  /** In the smallest unit of the currency. */
  readonly amount: number;
  readonly currency: string;
  /** The caller's own fields. */
  readonly metadata?: Metadata;
  /** What else is sent to the processor with the charge; absent if that is nothing. */
  readonly details?: PaymentDetails;
  /** Recognizes the token of a repeated request after the token itself is erased. */
  readonly tokenDigest: string;
  /** Our idempotency key for the processor, the same for every attempt. */
  readonly processorKey: string;
  /** How many calls to the processor have ended with a stored outcome. */
  readonly attempts: number;
  /** The entry in `service:payment-keys` with this payment's id, if the request had a key. */
  readonly keyEntry?: string;
  /** The id of the request that made the payment. The response has this id even if it is sent much later. */
  readonly requestId: string;
  readonly createdAt: string;
  /** How the amount was computed from the price of the route; absent if the route had no price. */
  readonly price?: PaymentPrice;
  /**
   * The time until which the charge may be requested again, in milliseconds since 1970. After it, the charge is
   * canceled. A caller's repeated request extends it.
   */
  readonly retryUntil: number;
  /** When the shop requested a cancellation. */
  readonly cancelRequestedAt?: string;
  /** Present until the charge ends or the cardholder must authenticate it. */
  readonly sealedToken?: string;
  /**
   * The address whose cards are counted (`CardTestingLimiter`). Present until the charge ends, if the request came from
   * a buyer.
   */
  readonly sealedBuyerAddress?: string;
  /**
   * The URL to which the cardholder returns after authenticating. Without it, a charge that needs authentication is
   * declined.
   */
  readonly returnUrl?: string;
  /** Present from `requires_action` on. */
  readonly authentication?: Authentication;
  readonly chargeId?: string;
  readonly declineCode?: string;
  /** The exact response; absent until the payment has one. */
  readonly response?: StoredResponse;
  /** The item that the route makes when the charge succeeds. */
  readonly item?: PaidItem;
  /** Why an adopted payment has no item, although its route may sell one. */
  readonly itemProblem?: ItemProblem;
  readonly refunds?: readonly Refund[];
  readonly disputes?: readonly Dispute[];
  /** Ids of the processor's events that changed this record, the newest last. */
  readonly events?: readonly string[];
}

/** The address of a payment for callers: the names in its path. */
export interface PaymentPlace {
  readonly processor: string;
  readonly route: string;
  readonly paymentId: string;
}

/** The authentication of a payment by the cardholder's bank (3-D Secure). */
export interface Authentication {
  /** The processor's id of the attempt, for looking it up and canceling it. */
  readonly attemptId: string;
  /** When the attempt is canceled, in milliseconds since 1970. */
  readonly until: number;
  /**
   * The last look-up for callers: when it began, in milliseconds since 1970, and the payment's `attempts` at that time.
   * The look-up is under way until `attempts` has grown.
   */
  readonly lookUp?: { readonly at: number; readonly attempts: number };
  /** The `NextAction` as JSON: it contains the processor's secrets of this attempt. Erased when the charge ends. */
  readonly sealedAction?: string;
}

export type Metadata = Readonly<Record<string, string>>;

/** The optional fields of the request that only the processor uses. */
export interface PaymentDetails {
  readonly description?: string;
  readonly statementDescriptorSuffix?: string;
  /** Present until the charge ends. */
  readonly sealedReceiptEmail?: string;
  /** Recognizes the address of a repeated request after the address itself is erased. */
  readonly receiptEmailDigest?: string;
}

export type PaymentPrice =
  | { readonly type: 'payer' }
  | { readonly type: 'fixed' }
  | {
      readonly type: 'table';
      readonly table: string;
      readonly id: string;
      /** In the smallest unit of the currency. */
      readonly unitAmount: number;
      /** Absent on a route without a quantity. */
      readonly quantity?: number;
    };

export interface PaidItem {
  readonly table: string;
  /** Absent if it is the charge id. */
  readonly id?: string;
  /** Absent if it is the charge id. */
  readonly name?: string;
  /** What deletes the item, by the route's rules at the time of the payment; absent if nothing does. */
  readonly revokedBy?: readonly Revocation[];
  readonly state: (typeof paidItemStates)[number];
}

/**
 * Why an adopted payment has no item: the route is not in the records, the settings no longer have it, the metadata
 * lacks a value, the settings do not allow the item, or another payment holds it.
 */
export type ItemProblem =
  | 'route_unknown'
  | 'route_gone'
  | 'metadata_missing'
  | 'item_not_allowed'
  | 'item_held';

export type Revocation = 'refund' | 'dispute';

/**
 * `conflict`: another caller's item had this id when the charge succeeded, and was left unchanged. `deleted`: the money
 * was returned, and the item was deleted. `not_deleted`: the money was returned, but the item stays, because somebody
 * had changed it.
 */
export const paidItemStates = ['awaited', 'made', 'not_made', 'conflict', 'deleted', 'not_deleted'] as const;

export interface Dispute {
  readonly id: string;
  readonly amount: number;
  /** In the processor's words. */
  readonly status: string;
  readonly reason: string;
  /** Whether the processor had taken the money back. Absent in records of older versions. */
  readonly isWithdrawn?: boolean;
  /** When the processor reported this, in milliseconds since 1970. */
  readonly reportedAt: number;
}

export const paymentsSpace = 'service:payments';
export const paymentKeysSpace = 'service:payment-keys';
/** Payment ids by the processor's charge ids, for events that contain no other id. */
export const chargesSpace = 'service:charges';

export function newPaymentId(now: number): string {
  return timeOrderedId('pay', now);
}

/** The common prefix of the ids of all payments that were made in this millisecond. */
export function idPrefix(now: number): string {
  return idsFrom('pay', now);
}

/** The creation time of a payment, in milliseconds since 1970, from its id. */
export function madeAt(paymentId: string): number {
  return Number.parseInt(paymentId.slice(4, 16), 16);
}

export function newRefundId(now: number): string {
  return timeOrderedId('ref', now);
}

export function newProcessorKey(): string {
  return `cf_${randomBytes(20).toString('hex')}`;
}

export function tokenDigest(paymentId: string, token: string): string {
  return digest(paymentId, token);
}

export function actionPlace(paymentId: string): EphemeralContext {
  return { record: 'payment', name: paymentId, field: 'next_action', isEphemeral: true };
}

export function buyerAddressPlace(paymentId: string): EphemeralContext {
  return { record: 'payment', name: paymentId, field: 'buyer_address', isEphemeral: true };
}

export function tokenPlace(paymentId: string): EphemeralContext {
  return { record: 'payment', name: paymentId, field: 'token', isEphemeral: true };
}

export function receiptEmailDigest(paymentId: string, email: string): string {
  return digest('receipt_email', paymentId, email);
}

export function receiptEmailPlace(paymentId: string): EphemeralContext {
  return { record: 'payment', name: paymentId, field: 'receipt_email', isEphemeral: true };
}

/** A key is scoped to caller, processor and route. */
export function callerKeyEntry(caller: string, processor: string, route: string, key: string): string {
  return digest('key', caller, processor, route, key);
}

/** A single-use token is an idempotency key on every route and for every caller. */
export function tokenKeyEntry(processor: string, token: string): string {
  return digest('token', processor, token);
}

export function refundKeyDigest(caller: string, key: string): string {
  return digest('refund', caller, key);
}

export function chargeEntry(processor: string, chargeId: string): string {
  return `${processor}/${chargeId}`;
}

/**
 * The idempotency key for the exchange of a token for a payment method. A later payment of the same request uses the
 * same key; otherwise the first exchange would have used up its token.
 */
export function tokenKey({ id, keyEntry }: Payment, token: string): string {
  return `cf_${digest('method', keyEntry ?? id, token)}`;
}

function digest(...parts: readonly string[]): string {
  return hash('sha256', JSON.stringify(parts), 'base64url');
}
