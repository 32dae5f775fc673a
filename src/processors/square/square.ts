import type { ConnectedProcessor, Mode } from '../processor.ts';
import { Sends } from '../sending/send-once.ts';
import { SharedListing } from '../sending/shared-listing.ts';
import { Throttle } from '../sending/throttle.ts';
import { account, charges, check, findOwner } from './account.ts';
import { type SquareAccount, SquareApi } from './api.ts';
import { charge } from './charge.ts';
import { readFault } from './errors.ts';
import { readEvent } from './event.ts';
import {
  arrivalMsMax,
  cancelCharge,
  findCharge,
  identifiedPayments,
  listingWeight,
  type Payments,
} from './look-up.ts';
import { findRefund, refund } from './refund.ts';

export interface SquareSettings {
  readonly accessToken: string;
  /** Origin of the API, for instance `https://connect.squareup.com`. */
  readonly apiBase: string;
  /** Undefined for the main location of the account. */
  readonly locationId?: string | undefined;
  /** Keys of the webhook subscription; two during a rotation. */
  readonly webhookKeys: readonly string[];
  /** The subscription's notification URL, exactly as Square has it. */
  readonly webhookUrl?: string | undefined;
  /** How far Square's lists may be behind, in milliseconds. */
  readonly listLagMs?: number;
  /** Number of processes that share `recoveryCallsPerSecondMax`; 1 by default. */
  readonly processes?: number;
}

/**
 * Square does not document how long it remembers keys
 * (https://developer.squareup.com/forums/t/how-long-are-idempotency-keys-retained-for-the-createpayment-endpoint/28303).
 * This is the value for Stripe, which promises 24 h.
 */
const keyLifeMs = 23 * 60 * 60 * 1_000;
/** "Several seconds" (https://developer.squareup.com/reference/square/payments-api/list-payments) plus a margin. */
const listLagMsDefault = 10_000;
/** Recovery's rate for all processes on one machine together. Square documents no limit; shops report far higher rates. */
const recoveryCallsPerSecondMax = 10;

/**
 * Square, by its REST API. One call charges a token. The payment's reference holds our payment id, and the refund's
 * reason our refund id (docs/decisions/square-payments.md).
 */
export async function squareProcessor(settings: SquareSettings): Promise<ConnectedProcessor> {
  const { accessToken, apiBase, locationId, webhookKeys: keys, webhookUrl: url } = settings;
  const sends = new Sends();
  const recoveryThrottle = new Throttle(recoveryCallsPerSecondMax / (settings.processes ?? 1));
  const api = new SquareApi({ accessToken, apiBase, sends, recoveryThrottle });
  const listLagMs = settings.listLagMs ?? listLagMsDefault;
  const square: SquareAccount = { api, sends, locationId, listLagMs, mode: apiMode(apiBase) };
  const payments: Payments = new SharedListing({
    list: (period) => identifiedPayments(square, period),
    weight: listingWeight,
    errorDetail: (error) => readFault(error).detail,
  });
  return {
    name: 'square',
    movesMoney: true,
    keyLifeMs,
    // A list without the payment is read again after its lag.
    cancelMsMax: arrivalMsMax + listLagMs,
    isSingleUse,
    charge: (request) => charge(square, request),
    findCharge: (sought) => findCharge(square, payments, sought),
    cancelCharge: (canceled) => cancelCharge(square, payments, canceled),
    refund: (request) => refund(square, request),
    findRefund: (sought) => findRefund(square, sought),
    findOwner: (chargeId, timeoutMs) => findOwner(square, chargeId, timeoutMs),
    charges: (period) => charges(square, period),
    // Square's payments take no cardholder's authentication: each request ends by itself.
    openAttempts: async function* () {},
    account: (timeoutMs) => account(square, timeoutMs),
    check: (timeoutMs) => check(square, timeoutMs),
    readEvent: async (delivery) => readEvent({ keys, url }, delivery),
  };
}

/**
 * A nonce made from a card is `cnon:` and 20 or more letters, digits, `-` and `_`. The sandbox's named nonces
 * (https://developer.squareup.com/docs/testing/test-values) and the ids of cards on file are reusable.
 */
function isSingleUse(token: string): boolean {
  return /^cnon:(?!(gift-)?card-nonce-)(?=.*[A-Z0-9])[A-Za-z0-9_-]{20,}$/.test(token);
}

/** https://developer.squareup.com/docs/devtools/sandbox/overview: the sandbox has an address of its own. */
function apiMode(apiBase: string): Mode | undefined {
  const { hostname } = new URL(apiBase);
  if (hostname === 'connect.squareupsandbox.com') return 'test';
  return hostname === 'connect.squareup.com' ? 'live' : undefined;
}
