import type { Processor } from '../processor.ts';
import type { Account } from './account.ts';
import { charge } from './charge.ts';
import { check } from './check.ts';
import { readEvent } from './event.ts';
import { charges, findCharge, findOwner } from './look-up.ts';
import { findRefund, refund } from './refund.ts';

export interface SquareSettings {
  readonly accessToken: string;
  /** Origin of the API, for instance `https://connect.squareup.com`. */
  readonly apiBase: string;
  /** Undefined for the main location of the account. */
  readonly locationId?: string | undefined;
  /** Of the webhook subscription; two while one takes the other's place. */
  readonly webhookKeys: readonly string[];
  /** Notification URL of the webhook subscription, exactly as Square has it. */
  readonly webhookUrl?: string | undefined;
  /** How far Square's lists may be behind, in milliseconds. */
  readonly listLagMs?: number;
}

/**
 * Square publishes no time for which it remembers keys
 * (https://developer.squareup.com/forums/t/how-long-are-idempotency-keys-retained-for-the-createpayment-endpoint/28303):
 * as careful as with the processor whose promise is 24 h.
 */
const keyLifeMs = 23 * 60 * 60 * 1_000;
/** "Several seconds" (https://developer.squareup.com/reference/square/payments-api/list-payments), and some more. */
const listLagMsDefault = 10_000;

/**
 * Square, by its official SDK. A token is charged in one call; our payment id stands in the payment's reference, and
 * our refund id in the refund's reason (docs/decisions/square-payments.md).
 */
export async function squareProcessor(settings: SquareSettings): Promise<Processor> {
  const { SquareClient } = await import('square');
  const { accessToken: token, apiBase: baseUrl, locationId, webhookKeys: keys, webhookUrl: url } = settings;
  const client = new SquareClient({ token, baseUrl });
  const account: Account = { client, locationId, listLagMs: settings.listLagMs ?? listLagMsDefault };
  return {
    name: 'square',
    keyLifeMs,
    isSingleUse,
    charge: (request) => charge(account, request),
    findCharge: (sought) => findCharge(account, sought),
    refund: (request) => refund(account, request),
    findRefund: (sought) => findRefund(account, sought),
    findOwner: (chargeId, timeoutMs) => findOwner(account, chargeId, timeoutMs),
    charges: (period) => charges(account, period),
    check: (timeoutMs) => check(account, timeoutMs),
    readEvent: async (delivery) => readEvent({ keys, url }, delivery),
  };
}

/**
 * Nonces made from a card are `cnon:` and 20 or more letters, digits, `-` and `_`; the sandbox's named ones
 * (https://developer.squareup.com/docs/testing/test-values) and the ids of cards on file can be used again.
 */
function isSingleUse(token: string): boolean {
  return /^cnon:(?!(gift-)?card-nonce-)(?=.*[A-Z0-9])[A-Za-z0-9_-]{20,}$/.test(token);
}
