import type { SealedRecords } from '../../secrets/sealed-records.ts';
import {
  actionPlace,
  buyerAddressPlace,
  type Payment,
  paymentsSpace,
  receiptEmailPlace,
  tokenPlace,
} from '../payment.ts';

/**
 * The secrets of open charges, in `service:payments`: card tokens, email addresses, next actions and buyers' addresses. Most
 * payments have none any more; none has an email address without a token, or a buyer's address without a token or an action.
 */
export const sealedTokens: SealedRecords = {
  space: paymentsSpace,
  exchange(id, text, exchange) {
    // Parsing every stored payment would take most of the time.
    if (!text.includes('"sealedToken":') && !text.includes('"sealedAction":')) return text;
    const payment = JSON.parse(text) as Payment;
    const { sealedToken, sealedBuyerAddress: address, authentication, details } = payment;
    const sealedAction = authentication?.sealedAction;
    const email = details?.sealedReceiptEmail;
    if (sealedToken === undefined && sealedAction === undefined) return text;
    return JSON.stringify({
      ...payment,
      ...(sealedToken && { sealedToken: exchange(sealedToken, tokenPlace(id)) }),
      ...(address && { sealedBuyerAddress: exchange(address, buyerAddressPlace(id)) }),
      ...(email && { details: { ...details, sealedReceiptEmail: exchange(email, receiptEmailPlace(id)) } }),
      ...(sealedAction && {
        authentication: { ...authentication, sealedAction: exchange(sealedAction, actionPlace(id)) },
      }),
    });
  },
};
