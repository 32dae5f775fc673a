import type { SealedRecords } from '../../secrets/sealed-records.ts';
import { type Payment, paymentsSpace, tokenPlace } from '../payment.ts';

/** The card tokens of open charges, in `service:payments`. Most payments have no token any more. */
export const sealedTokens: SealedRecords = {
  space: paymentsSpace,
  exchange(id, text, exchange) {
    // Parsing every stored payment would take most of the time.
    if (!text.includes('"sealedToken":')) return text;
    const payment = JSON.parse(text) as Payment;
    if (payment.sealedToken === undefined) return text;
    return JSON.stringify({ ...payment, sealedToken: exchange(payment.sealedToken, tokenPlace(id)) });
  },
};
