/**
 * Where Stripe counts otherwise than ISO 4217 (https://docs.stripe.com/currencies#special-cases and #zero-decimal):
 * how many of Stripe's units one ISO unit is.
 */
const stripeUnitsPerIsoUnit: Readonly<Record<string, number>> = {
  // No decimals in ISO 4217, two at Stripe.
  ISK: 100,
  UGX: 100,
  // Two decimals in ISO 4217, none at Stripe.
  MGA: 1 / 100,
};

/** Stripe takes amounts of these currencies in tens only (https://docs.stripe.com/currencies#three-decimal). */
const currenciesInTens: readonly string[] = ['BHD', 'JOD', 'KWD', 'OMR', 'TND'];

/** @returns why Stripe does not take this amount, before it is asked; undefined where it may */
export function amountProblem(amount: number, currency: string) {
  if (!Number.isInteger(stripeAmount(amount, currency))) {
    const message = `Stripe counts ${currency} in whole units only; no money was moved.`;
    return { message, detail: 'the amount has a fraction of a whole unit' };
  }
  if (currenciesInTens.includes(currency) && amount % 10 !== 0) {
    const message = `Stripe takes amounts of ${currency} in tens only: the last of the three decimals must be 0. No money was moved.`;
    return { message, detail: 'the amount is not a multiple of ten' };
  }
  return undefined;
}

/** @returns the amount as Stripe counts it; see `amountProblem` for those that it cannot count */
export function stripeAmount(amount: number, currency: string): number {
  const factor = stripeUnitsPerIsoUnit[currency] ?? 1;
  return factor < 1 ? amount / Math.round(1 / factor) : amount * factor;
}

/** @returns an amount of Stripe's in the smallest unit of ISO 4217 */
export function isoAmount(counted: number, currency: string): number {
  const factor = stripeUnitsPerIsoUnit[currency] ?? 1;
  return factor < 1 ? counted * Math.round(1 / factor) : counted / factor;
}
