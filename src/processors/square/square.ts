import type { Processor } from '../processor.ts';
import { Pace } from '../sending/pace.ts';
import { Sends } from '../sending/sends.ts';
import { SharedListing } from '../sending/shared-listing.ts';
import { account, type Payments, type SquareAccount } from './account.ts';
import { SquareApi } from './api.ts';
import { charge } from './charge.ts';
import { check } from './check.ts';
import { faultOf } from './errors.ts';
import { readEvent } from './event.ts';
import { cancelCharge, charges, findCharge, findOwner, paymentsOf, weightOf } from './look-up.ts';
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
  /** Processes that share `recoveryCallsPerSecondMax`; one without it. */
  readonly processes?: number;
}

/**
 * Square publishes no time for which it remembers keys
 * (https://developer.squareup.com/forums/t/how-long-are-idempotency-keys-retained-for-the-createpayment-endpoint/28303):
 * as careful as with the processor whose promise is 24 h.
 */
const keyLifeMs = 23 * 60 * 60 * 1_000;
/** "Several seconds" (https://developer.squareup.com/reference/square/payments-api/list-payments), and some more. */
const listLagMsDefault = 10_000;
/** Of all processes of recovery on one machine. Square publishes no limit; a small part of what shops are seen to be allowed. */
const recoveryCallsPerSecondMax = 10;

/**
 * Square, by its REST API. A token is charged in one call; our payment id stands in the payment's reference, and
 * our refund id in the refund's reason (docs/decisions/square-payments.md).
 */
export async function squareProcessor(settings: SquareSettings): Promise<Processor> {
  const { accessToken, apiBase, locationId, webhookKeys: keys, webhookUrl: url } = settings;
  const sends = new Sends();
  const recoveryPace = new Pace(recoveryCallsPerSecondMax / (settings.processes ?? 1));
  const api = new SquareApi({ accessToken, apiBase, sends, recoveryPace });
  const listLagMs = settings.listLagMs ?? listLagMsDefault;
  const square: SquareAccount = { api, sends, locationId, listLagMs };
  const payments: Payments = new SharedListing({
    list: (period) => paymentsOf(square, period),
    weight: weightOf,
    detailOf: (error) => faultOf(error).detail,
  });
  return {
    name: 'square',
    keyLifeMs,
    isSingleUse,
    charge: (request) => charge(square, request),
    findCharge: (sought) => findCharge(square, payments, sought),
    cancelCharge: (canceled) => cancelCharge(square, payments, canceled),
    refund: (request) => refund(square, request),
    findRefund: (sought) => findRefund(square, sought),
    findOwner: (chargeId, timeoutMs) => findOwner(square, chargeId, timeoutMs),
    charges: (period) => charges(square, period),
    account: (timeoutMs) => account(square, timeoutMs),
    check: (timeoutMs) => check(square, timeoutMs),
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
