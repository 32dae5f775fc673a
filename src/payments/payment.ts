import { hash } from 'node:crypto';
import { randomBytes } from '../random.ts';
import type { SecretPlace } from '../secrets/sealer.ts';
import { idsFrom, timeOrderedId } from '../time-ordered-id.ts';
import type { ChargeState } from './charge-state.ts';
import type { Refund } from './refund-state.ts';
import type { StoredResponse } from './stored-response.ts';

/** The record of one payment and all that came of it, kept for ever in `service:payments` under its id. */
export interface Payment {
  readonly id: string;
  readonly state: ChargeState;
  readonly processor: string;
  /** Whose books it is on; absent where the processor's key may not read the account. */
  readonly account?: string;
  readonly route: string;
  /** In the smallest unit of the currency. */
  readonly amount: number;
  readonly currency: string;
  /** What the caller wants to know the payment by. */
  readonly metadata?: Metadata;
  /** Tells whether a repeated request carries the same token, when the token itself is long erased. */
  readonly tokenDigest: string;
  /** Our own idempotency key towards the processor, the same for every attempt. */
  readonly processorKey: string;
  /** How often the processor has been asked and the outcome stored. */
  readonly attempts: number;
  /** The entry of `service:payment-keys` that leads here, where the request had a key. */
  readonly keyEntry?: string;
  /** The request that made it; its answer carries this id however late it is given. */
  readonly requestId: string;
  readonly createdAt: string;
  /**
   * Until when the processor may be asked for the charge again, in milliseconds since 1970; then nobody wants it any more.
   * A caller who asks for it again moves it on.
   */
  readonly wantedUntil: number;
  /** When the shop asked to cancel it. */
  readonly cancelRequestedAt?: string;
  /** Present until the charge has ended. */
  readonly sealedToken?: string;
  readonly chargeId?: string;
  readonly declineCode?: string;
  /** The answer, to the byte; absent while there is none to repeat. */
  readonly answer?: StoredResponse;
  /** The item that the route makes when the charge succeeds. */
  readonly item?: PaidItem;
  readonly refunds?: readonly Refund[];
  readonly disputes?: readonly Dispute[];
  /** Ids of the processor's events that have changed this record, the newest last. */
  readonly events?: readonly string[];
}

export type Metadata = Readonly<Record<string, string>>;

export interface PaidItem {
  readonly table: string;
  /** Absent where it is the charge id. */
  readonly id?: string;
  /** Absent where it is the charge id. */
  readonly name?: string;
  /** `conflict`: somebody else had made an item of this id when the charge succeeded; theirs was left as it is. */
  readonly state: 'awaited' | 'made' | 'conflict' | 'not_made';
}

export interface Dispute {
  readonly id: string;
  readonly amount: number;
  /** In the processor's words. */
  readonly status: string;
  readonly reason: string;
  /** When the processor last said so, in milliseconds since 1970. */
  readonly toldAt: number;
}

export const paymentsSpace = 'service:payments';
export const paymentKeysSpace = 'service:payment-keys';
/** Payment ids by the processor's charge ids, for events that name nothing else. */
export const chargesSpace = 'service:charges';

export function newPaymentId(now: number): string {
  return timeOrderedId('pay', now);
}

/** What the ids of payments made in this millisecond begin with. */
export function idPrefix(now: number): string {
  return idsFrom('pay', now);
}

/** When a payment was made, in milliseconds since 1970, by its id. */
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

export function tokenPlace(paymentId: string): SecretPlace {
  return { record: 'payment', name: paymentId, field: 'token' };
}

/** Keys are scoped to caller, processor and route: the same key elsewhere is another key. */
export function callerKeyEntry(caller: string, processor: string, route: string, key: string): string {
  return digest('key', caller, processor, route, key);
}

/** A single-use token is a key by itself, wherever it is sent. */
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
 * The key of the request that exchanges a token for something that can be charged: the same for the next payment of the
 * same request, whose token would else be used up.
 */
export function tokenKey({ id, keyEntry }: Payment, token: string): string {
  return `cf_${digest('method', keyEntry ?? id, token)}`;
}

function digest(...parts: readonly string[]): string {
  return hash('sha256', JSON.stringify(parts), 'base64url');
}
