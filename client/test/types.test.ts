import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Static } from 'typebox';
import type { publicKey } from '../../src/access/keys/api-key.ts';
import type { Scope as ScopeOfService } from '../../src/access/scopes.ts';
import {
  type ErrorCode as CodeOfService,
  errorKinds,
  type ErrorType as TypeOfService,
} from '../../src/errors.ts';
import type { paymentState, refundState } from '../../src/http/routes/payment-responses.ts';
import type { ChargeState } from '../../src/payments/charge-state.ts';
import type { RefundState } from '../../src/payments/refund-state.ts';
import { readDocument } from '../../test/support/openapi/document.ts';
import {
  Counterfoil,
  CounterfoilError,
  type Dispute,
  type ErrorCode,
  type ErrorType,
  type IdentityProvider,
  type Payment,
  type PaymentStatus,
  type PayResult,
  type Refund,
  type RefundStatus,
  type ServiceErrorCode,
  type Session,
} from '../src/index.ts';
import type { ApiKey, Scope } from '../src/operator.ts';

type Same<One, Other> = [One] extends [Other] ? ([Other] extends [One] ? true : false) : false;
type Shape<Value> = { readonly [Key in keyof Value]: unknown };

/** `tsc` fails if a type of the client is not that of the service. */
const same: readonly true[] = [
  true satisfies Same<ServiceErrorCode, CodeOfService>,
  true satisfies Same<ErrorType, TypeOfService | 'client'>,
  true satisfies Same<Scope, ScopeOfService>,
  true satisfies Same<keyof ApiKey, keyof ReturnType<typeof publicKey> | 'last_used_at'>,
  true satisfies Same<PaymentStatus, Exclude<ChargeState, 'received'>>,
  true satisfies Same<RefundStatus, RefundState>,
  true satisfies Same<keyof Payment, keyof Static<typeof paymentState>>,
  true satisfies Same<keyof Refund, keyof Static<typeof refundState>>,
  true satisfies Payment extends Shape<Static<typeof paymentState>> ? true : false,
];

/** Every member of a type: `tsc` fails if one is missing or superfluous. */
const errorCodes = Object.fromEntries(Object.keys(errorKinds).map((code) => [code, 0])) as Record<
  ServiceErrorCode,
  0
>;
const paymentStatuses: Record<PaymentStatus, 0> = {
  calling: 0,
  requires_action: 0,
  in_doubt: 0,
  succeeded: 0,
  declined: 0,
  needs_review: 0,
};
const refundStatuses: Record<RefundStatus, 0> = {
  calling: 0,
  in_doubt: 0,
  pending: 0,
  succeeded: 0,
  failed: 0,
  needs_review: 0,
};
const identityProviders: Record<IdentityProvider, 0> = { google: 0, microsoft: 0, github: 0, oidc: 0 };
const payment: Record<keyof Payment, 0> = {
  id: 0,
  status: 0,
  processor: 0,
  amount: 0,
  currency: 0,
  charge_id: 0,
  decline_code: 0,
  next_action: 0,
  created_at: 0,
  metadata: 0,
  price: 0,
  description: 0,
  statement_descriptor_suffix: 0,
  item: 0,
  amount_refunded: 0,
  refunds: 0,
  disputes: 0,
};
const refund: Record<keyof Refund, 0> = {
  refund_id: 0,
  payment_id: 0,
  status: 0,
  amount: 0,
  currency: 0,
  processor_refund_id: 0,
  created_at: 0,
};
const dispute: Record<keyof Dispute, 0> = { id: 0, amount: 0, status: 0, reason: 0 };
const session: Record<keyof Session, 0> = {
  issuer: 0,
  subject: 0,
  provider: 0,
  integration: 0,
  name: 0,
  email: 0,
  email_verified: 0,
  picture: 0,
  session: 0,
};

test('the types of the client are those of the service', () => {
  assert.ok(same.every(Boolean));
});

test('openapi.json has the fields and closed lists of the client', () => {
  const { schemas } = readDocument().components;
  const lists = { ErrorCode: errorCodes, PaymentStatus: paymentStatuses, RefundStatus: refundStatuses };
  for (const [name, values] of Object.entries({ ...lists, IdentityProvider: identityProviders }))
    assert.deepEqual(schemas[name]?.enum?.toSorted(), Object.keys(values).sort(), name);
  for (const [name, fields] of Object.entries({
    Payment: payment,
    Refund: refund,
    Dispute: dispute,
    CurrentSession: session,
  })) {
    const { properties = {} } = schemas[name] as { readonly properties?: object };
    assert.deepEqual(Object.keys(properties).sort(), Object.keys(fields).sort(), name);
  }
});

test('an error narrows by its code', async () => {
  const use = (error: unknown): string => {
    if (!(error instanceof CounterfoilError)) return 'other';
    if (error.code === 'card_declined') {
      const declineCode: string = error.declineCode;
      return declineCode;
    }
    const code: ErrorCode = error.code;
    // @ts-expect-error: this code does not exist.
    if (error.code === 'card_decline') return '';
    return code;
  };
  const result = (paid: PayResult): string => {
    // @ts-expect-error: not every result has a charge.
    void paid.chargeId;
    // @ts-expect-error: this status does not exist.
    if (paid.status === 'sucseeded') return '';
    if (paid.status === 'succeeded') return paid.chargeId;
    return paid.status === 'declined' ? paid.declineCode : paid.idempotencyKey;
  };
  const reply = (code: CodeOfService, status: number) => async () =>
    Response.json(
      {
        statusCode: status,
        body: { error: { type: errorKinds[code].type, code, message: 'M', retryable: false } },
      },
      { status, headers: { 'request-id': 'req_1' } },
    );
  for (const [code, { status }] of Object.entries(errorKinds)) {
    // What is repeated is tested with the payments.
    if (['rate_limited', 'overloaded', 'unavailable', 'request_timeout'].includes(code)) continue;
    const fetch = reply(code as CodeOfService, status);
    const table = new Counterfoil({ url: 'http://localhost', fetch }).table('t');
    const error = await table.create({ id: 'a', name: '' }).catch((thrown) => thrown);
    assert.ok(error instanceof CounterfoilError && error instanceof Error);
    assert.deepEqual(
      [error.code, error.status, error.requestId, error.retryable],
      [code, status, 'req_1', false],
    );
    assert.equal(use(error), code === 'card_declined' ? undefined : code);
  }
  assert.equal(use(new Error('x')), 'other');
  assert.equal(result({ status: 'succeeded', idempotencyKey: 'k', paymentId: 'p', chargeId: 'c' }), 'c');
});
