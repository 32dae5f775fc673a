/** The types of payments that other folders use: what the methods of `Payments` take and return. */

export type { StoredResponse } from '../envelope.ts';
export type { Adoption, AdoptionOptions } from './adoption/adopt.ts';
export type { Adopted } from './adoption/charges.ts';
export { ownDeclineCodes } from './charge/outcome.ts';
export type { UncheckedChargeRequest } from './charge/request.ts';
export type { PaymentResponse } from './charge/response.ts';
export { type StoredChargeState, storedChargeStates } from './charge-state.ts';
export { type Payment, paidItemStates } from './payment.ts';
export type { RoutePolicy } from './payment-routes.ts';
export type { Price } from './prices.ts';
export type { Difference } from './reconcile.ts';
export type { Reconciliation } from './reconciliations.ts';
export type { PublicRefund, RefundResponse } from './refund/response.ts';
export { refundStates } from './refund-state.ts';
export type { Resolution } from './resolve-payment.ts';
