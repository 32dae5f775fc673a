import type { SealedRecords } from '../../secrets/sealed-records.ts';
import { type Payment, paymentsSpace, receiptEmailPlace, tokenPlace } from '../payment.ts';

/**
 * The card tokens and email addresses of open charges, in `service:payments`. Most payments have no token any more, and none
 * has an address without a token.
 */
export const sealedTokens: SealedRecords = {
  space: paymentsSpace,
  exchange(id, text, exchange) {
    // Parsing every stored payment would take most of the time.
    if (!text.includes('"sealedToken":')) return text;
    const payment = JSON.parse(text) as Payment;
    if (payment.sealedToken === undefined) return text;
    const after = { ...payment, sealedToken: exchange(payment.sealedToken, tokenPlace(id)) };
    const email = payment.details?.sealedReceiptEmail;
    if (email === undefined) return JSON.stringify(after);
    const sealedReceiptEmail = exchange(email, receiptEmailPlace(id));
    return JSON.stringify({ ...after, details: { ...payment.details, sealedReceiptEmail } });
  },
};
