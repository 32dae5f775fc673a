import type { Session } from './service.ts';

/** Decimal places of a currency. The browser's own list differs from ISO 4217 for some currencies, such as RSD. */
export function decimalsOf({ payments }: Session, currency: string): number {
  return payments?.decimals[currency] ?? 2;
}

/** An amount in the currency's own form, in the language of the reader: `€10.50`. @param amount in the smallest unit */
export function written(session: Session, amount: number, currency: string): string {
  const digits = decimalsOf(session, currency);
  const options = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  try {
    return new Intl.NumberFormat(undefined, { style: 'currency', currency, ...options }).format(
      amount / 10 ** digits,
    );
  } catch {
    return `${plain(amount, digits)} ${currency}`;
  }
}

/** Writes an amount with its decimals: 1050 with two decimals is `10.50`. */
export function plain(amount: number, decimals: number): string {
  const digits = String(amount).padStart(decimals + 1, '0');
  const point = digits.length - decimals;
  return decimals === 0 ? digits : `${digits.slice(0, point)}.${digits.slice(point)}`;
}

/**
 * Reads what a reader typed as an amount in the smallest unit: `10,5` is 1050. Undefined if it is not an amount in this
 * currency.
 */
export function parsed(text: string, decimals: number): number | undefined {
  const [, whole, fraction = ''] = /^\s*(\d{1,12})(?:[.,](\d+))?\s*$/.exec(text) ?? [];
  if (whole === undefined || fraction.length > decimals) return undefined;
  return Number(whole + fraction.padEnd(decimals, '0'));
}
