/**
 * Currencies with other units at Stripe than in ISO 4217 (https://docs.stripe.com/currencies#special-cases and
 * #zero-decimal): the number of Stripe's units in one ISO unit.
 */
const stripeUnitsPerIsoUnit: Readonly<Record<string, number>> = {
  // No decimals in ISO 4217, two at Stripe.
  ISK: 100,
  UGX: 100,
  // Two decimals in ISO 4217, none at Stripe.
  MGA: 1 / 100,
};

/** Stripe accepts amounts of these currencies in tens only (https://docs.stripe.com/currencies#three-decimal). */
const currenciesInTens: readonly string[] = ['BHD', 'JOD', 'KWD', 'OMR', 'TND'];

/** @returns why Stripe cannot charge this amount, without calling Stripe; undefined if it can */
export function amountProblem(amount: number, currency: string) {
  if (!Number.isInteger(stripeAmount(amount, currency))) {
    const message = `Stripe accepts amounts of ${currency} in whole units only; no money was moved.`;
    return { message, detail: 'the amount has a fraction of a whole unit' };
  }
  if (currenciesInTens.includes(currency) && amount % 10 !== 0) {
    const message = `Stripe accepts amounts of ${currency} in tens only: the third decimal must be 0. No money was moved.`;
    return { message, detail: 'the amount is not a multiple of ten' };
  }
  return undefined;
}

/** @returns the amount in Stripe's unit; `amountProblem` finds the amounts that Stripe cannot charge */
export function stripeAmount(amount: number, currency: string): number {
  const factor = stripeUnitsPerIsoUnit[currency] ?? 1;
  return factor < 1 ? amount / Math.round(1 / factor) : amount * factor;
}

/** @returns Stripe's amount in the smallest unit of ISO 4217 */
export function isoAmount(amount: number, currency: string): number {
  const factor = stripeUnitsPerIsoUnit[currency] ?? 1;
  return factor < 1 ? amount * Math.round(1 / factor) : amount / factor;
}
