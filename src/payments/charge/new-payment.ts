import { accountOf, type ChargeAccount } from '../charge-account.ts';
import { transitionCharge } from '../charge-state.ts';
import type { PaymentContext } from '../context.ts';
import {
  newProcessorKey,
  type PaidItem,
  type Payment,
  type PaymentDetails,
  type PaymentPrice,
  tokenDigest,
  tokenPlace,
} from '../payment.ts';
import type { CheckedChargeRequest, UncheckedChargeRequest } from './request.ts';
import { sealedBuyerAddress } from './tried-cards.ts';

/** What the service has found out for a request. */
interface Facts {
  readonly id: string;
  readonly account: ChargeAccount;
  readonly price: PaymentPrice | undefined;
  readonly details: PaymentDetails | undefined;
  readonly keyEntry: string | undefined;
  readonly item: PaidItem | undefined;
}

/** The record of a payment as it is reserved, before its processor is called. */
export function newPayment(
  context: Pick<PaymentContext, 'now' | 'wantedMs' | 'sealer'>,
  request: Pick<UncheckedChargeRequest, 'route' | 'requestId' | 'buyerAddress'>,
  checked: CheckedChargeRequest,
  { id, account, price, details, keyEntry, item }: Facts,
): Payment {
  const { amount, currency, metadata, token, returnUrl } = checked;
  return {
    id,
    state: transitionCharge('received', 'calling'),
    ...accountOf(account),
    route: request.route,
    amount,
    currency,
    ...(price === undefined ? {} : { price }),
    ...(metadata === undefined ? {} : { metadata }),
    ...(details === undefined ? {} : { details }),
    tokenDigest: tokenDigest(id, token),
    isRequestRecorded: true,
    processorKey: newProcessorKey(),
    attempts: 0,
    ...(keyEntry === undefined ? {} : { keyEntry }),
    requestId: request.requestId,
    createdAt: new Date(context.now()).toISOString(),
    wantedUntil: context.now() + context.wantedMs,
    sealedToken: context.sealer.sealBriefly(token, tokenPlace(id)),
    ...sealedBuyerAddress(context, id, request.buyerAddress),
    ...(returnUrl === undefined ? {} : { returnUrl }),
    ...(item === undefined ? {} : { item }),
  };
}
