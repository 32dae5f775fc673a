export type { Act, Audit, AuditPage, ListAudit } from './audit.ts';
export { type ClientOptions, Counterfoil } from './client.ts';
export {
  type ClientErrorCode,
  CounterfoilError,
  type ErrorCode,
  type ErrorType,
  type ServiceErrorCode,
} from './error.ts';
export type { ReceivedResponse, SentRequest } from './http.ts';
export type {
  Declined,
  Dispute,
  ListRequest,
  Payment,
  PaymentPage,
  PaymentPlace,
  PaymentRequest,
  PaymentStatus,
  Payments,
  PayRequest,
  PayResult,
  Price,
  PriceRequest,
  Refund,
  Refunded,
  RefundFailed,
  RefundRequest,
  RefundResult,
  RefundStatus,
  RequiresAction,
  RetrieveRequest,
  Succeeded,
} from './payments.ts';
export type { MoneyOptions, UnknownOutcome } from './settle.ts';
export type { IdentityProvider, Session, SignIn, SignInRequest, TokenStorage, Tokens } from './sign-in.ts';
export type {
  AllItems,
  BatchWrite,
  CallOptions,
  GuardOptions,
  Item,
  ListTables,
  PageOptions,
  PutOptions,
  StoredItem,
  Table,
  TableFacts,
} from './tables.ts';
