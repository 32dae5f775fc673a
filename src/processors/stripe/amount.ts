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

/** @returns the amount as Stripe counts it, or undefined where it cannot be told exactly */
export function stripeAmount(amount: number, currency: string): number | undefined {
  const factor = stripeUnitsPerIsoUnit[currency] ?? 1;
  const counted = factor < 1 ? amount / Math.round(1 / factor) : amount * factor;
  return Number.isInteger(counted) ? counted : undefined;
}

/** @returns an amount of Stripe's in the smallest unit of ISO 4217 */
export function isoAmount(counted: number, currency: string): number {
  const factor = stripeUnitsPerIsoUnit[currency] ?? 1;
  return factor < 1 ? counted * Math.round(1 / factor) : counted / factor;
}
