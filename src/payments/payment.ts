import { createHash, randomBytes } from 'node:crypto';
import type { SecretPlace } from '../secrets/sealer.ts';
import type { ChargeState } from './charge.ts';
import type { Order } from './order.ts';

/** The record of one payment, kept for ever in `service:payments` under its id. */
export interface Payment {
  readonly id: string;
  readonly state: ChargeState;
  readonly processor: string;
  readonly route: string;
  /** In the smallest unit of the currency. */
  readonly amount: number;
  readonly currency: string;
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
  /** Present until the charge has ended. */
  readonly sealedToken?: string;
  readonly chargeId?: string;
  readonly declineCode?: string;
  /** The answer, to the byte; absent while there is none to repeat. */
  readonly answer?: StoredAnswer;
}

export interface StoredAnswer {
  readonly status: number;
  readonly text: string;
}

/** Marks a charge that has not ended: who wants to drive it must first move the end of its lease. */
export interface OpenPayment {
  /** Milliseconds since 1970. */
  readonly leaseEndsAt: number;
}

export const paymentsSpace = 'service:payments';
export const paymentKeysSpace = 'service:payment-keys';
export const openPaymentsSpace = 'service:open-payments';

/** Ids sort by the time they were made: 48 bits of milliseconds, 80 random bits (as a ULID), in hexadecimal. */
export function newPaymentId(now: number): string {
  return `pay_${now.toString(16).padStart(12, '0')}${randomBytes(10).toString('hex')}`;
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

/** Keys are scoped to processor and route: the same key on another route is another key. */
export function callerKeyEntry(processor: string, route: string, key: string): string {
  return digest('key', processor, route, key);
}

/** A single-use token is a key by itself, wherever it is sent. */
export function tokenKeyEntry(processor: string, token: string): string {
  return digest('token', processor, token);
}

/** The field in which a repeated request differs from the first, or undefined. */
export function differingField(payment: Payment, order: Order): 'amount' | 'currency' | 'token' | undefined {
  if (payment.amount !== order.amount) return 'amount';
  if (payment.currency !== order.currency) return 'currency';
  if (payment.tokenDigest !== tokenDigest(payment.id, order.token)) return 'token';
  return undefined;
}

function digest(...parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url');
}
