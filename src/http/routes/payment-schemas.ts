import { Type } from 'typebox';
import { amountMax, metadataKeysMax, paymentsPageMax, tokenCharactersMax } from '../../payments/limits.ts';
import { closed } from '../response/schemas.ts';

/** Request and response schemas of the payment operations. */

export const params = Type.Object({
  processor: Type.String({ description: 'stripe, or simulated under `serve --simulate`' }),
  route_id: Type.String({ description: 'A payment route from the settings; charge by default' }),
});
export const paymentParams = Type.Object({ ...params.properties, payment_id: Type.String() });
export const body = Type.Object(
  {
    amount: Type.Number({
      description: `In the smallest unit of the currency, 1 to ${amountMax}: 1050 is EUR 10.50 or JPY 1050`,
    }),
    currency: Type.String({ description: 'ISO 4217 code, upper or lower case' }),
    token: Type.String({
      minLength: 1,
      description: `Card token of the processor, at most ${tokenCharactersMax} visible ASCII characters`,
    }),
    metadata: Type.Optional(
      Type.Record(Type.String(), Type.String(), {
        description: `Your data about the payment, at most ${metadataKeysMax} keys; it never leaves the service`,
      }),
    ),
  },
  closed,
);
export const headers = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({
      description: 'Requests with the same key and body are charged once and get the same response',
    }),
  ),
});
export const paid = Type.Object({
  message: Type.Object({ message: Type.Literal('Payment successful!'), charge_id: Type.String() }),
});
export const refundState = Type.Object({
  refund_id: Type.String(),
  payment_id: Type.String(),
  status: Type.String({ description: 'calling, in_doubt, pending, succeeded, failed or needs_review' }),
  amount: Type.Integer({ description: 'In the smallest unit of the currency' }),
  currency: Type.String(),
  processor_refund_id: Type.Union([Type.String(), Type.Null()]),
  created_at: Type.String(),
});
export const paymentState = Type.Object({
  id: Type.String(),
  status: Type.String({ description: 'calling, in_doubt, succeeded, declined or needs_review' }),
  processor: Type.String(),
  amount: Type.Integer({ description: 'In the smallest unit of the currency' }),
  currency: Type.String(),
  charge_id: Type.Union([Type.String(), Type.Null()]),
  decline_code: Type.Union([Type.String(), Type.Null()]),
  created_at: Type.String(),
  metadata: Type.Record(Type.String(), Type.String()),
  item: Type.Union([
    Type.Object({
      table: Type.String(),
      id: Type.Union([Type.String(), Type.Null()]),
      status: Type.String({ description: 'awaited, made, not_made or conflict' }),
    }),
    Type.Null(),
  ]),
  amount_refunded: Type.Integer({ description: 'The amount that was or may have been refunded' }),
  refunds: Type.Array(refundState),
  disputes: Type.Array(
    Type.Object({
      id: Type.String(),
      amount: Type.Integer(),
      status: Type.String({ description: 'In the words of the processor' }),
      reason: Type.String(),
    }),
  ),
});
export const refundBody = Type.Object(
  {
    amount: Type.Optional(
      Type.Number({ description: 'In the unit of the route; default: the whole remaining amount' }),
    ),
  },
  closed,
);
export const listQuery = Type.Object(
  {
    idempotency_key: Type.Optional(
      Type.String({
        description:
          'Finds the payment of a request after its response was lost; no other parameter is allowed',
      }),
    ),
    limit: Type.Optional(
      Type.String({ description: `Maximum number of payments, 1 to ${paymentsPageMax}; default 20` }),
    ),
    after: Type.Optional(Type.String({ description: 'Start after this id: `next` of the previous page' })),
    since: Type.Optional(
      Type.String({ description: 'Only payments created at or after this time (RFC 3339)' }),
    ),
  },
  closed,
);
