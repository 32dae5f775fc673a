import type { Square, SquareClient } from 'square';

/** What every call to Square needs. */
export interface Account {
  readonly client: SquareClient;
  /** Undefined for the main location, which is what Square takes when none is named. */
  readonly locationId: string | undefined;
  /** For so long a payment that was made may be missing from Square's lists. */
  readonly listLagMs: number;
}

/** The version this adapter was written and tried against; a new one is a change of its own. */
const apiVersion = '2026-09-16';

/** How one call is made: no retries, because asking again is the state machine's decision. */
export function eachWithin(timeoutMs: number) {
  return { version: apiVersion, maxRetries: 0, timeoutInSeconds: timeoutMs / 1_000 } as const;
}

/** As one call, and with an end also to a reply that has begun and to a list of many pages. */
export function within(timeoutMs: number) {
  return { ...eachWithin(timeoutMs), abortSignal: AbortSignal.timeout(timeoutMs) } as const;
}

/**
 * Square counts the smallest unit of ISO 4217, without an exception among the currencies that it takes: AUD, CAD, EUR,
 * GBP and USD in hundredths, JPY in whole yen
 * (https://developer.squareup.com/docs/build-basics/working-with-monetary-amounts).
 */
export function moneyOf(amount: number, currency: string): Square.Money {
  return { amount: BigInt(amount), currency: currency as Square.Currency };
}
