import { type ChargeAccount, pickAccount } from '../accounts.ts';
import { sealedBuyerAddress } from '../card-testing.ts';
import { transitionCharge } from '../charge-state.ts';
import type { PaymentContext } from '../context.ts';
import { awaitedItem } from '../fulfilment.ts';
import {
  newPaymentId,
  newProcessorKey,
  type Payment,
  type PaymentPrice,
  tokenDigest,
  tokenPlace,
} from '../payment.ts';
import type { ItemPolicy } from '../payment-routes.ts';
import { storedDetails } from './details.ts';
import type { CheckedChargeRequest } from './request.ts';

/** What the service has determined for a request. */
interface Facts {
  readonly account: ChargeAccount;
  readonly price: PaymentPrice | undefined;
  readonly keyEntry: string | undefined;
  /** The item that the route sells. */
  readonly sold: ItemPolicy | undefined;
}

/**
 * The record of a payment before its processor is called. Throws `invalid_request` if the metadata lacks a value that
 * the item needs.
 */
export function newPayment(
  context: Pick<PaymentContext, 'now' | 'retryMs' | 'sealer'>,
  request: CheckedChargeRequest,
  { account, price, keyEntry, sold }: Facts,
): Payment {
  const { amount, currency, metadata, token, returnUrl } = request;
  const id = newPaymentId(context.now());
  const details = storedDetails(context, id, request);
  return {
    id,
    state: transitionCharge('received', 'calling'),
    ...pickAccount(account),
    route: request.route,
    amount,
    currency,
    ...(price && { price }),
    ...(metadata && { metadata }),
    ...(details && { details }),
    tokenDigest: tokenDigest(id, token),
    processorKey: newProcessorKey(),
    attempts: 0,
    ...(keyEntry !== undefined && { keyEntry }),
    requestId: request.requestId,
    createdAt: new Date(context.now()).toISOString(),
    retryUntil: context.now() + context.retryMs,
    sealedToken: context.sealer.sealWithSharedKey(token, tokenPlace(id)),
    ...sealedBuyerAddress(context, id, request.buyerAddress),
    ...(returnUrl !== undefined && { returnUrl }),
    ...(sold && { item: awaitedItem(sold, id, metadata) }),
  };
}
