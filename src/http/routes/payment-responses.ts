import { Type } from 'typebox';
import { paidItemStates, refundStates, storedChargeStates } from '../../payments/types.ts';
import { processorNames } from '../../processors/processor.ts';
import { documentedAs, named } from '../response/described.ts';
import { pageSchema } from '../response/pagination.ts';
import {
  declineCode,
  type Headers,
  nextAction,
  nullable,
  statusOk,
  strictObject,
  stringEnum,
  timestamp,
} from '../response/schemas.ts';

/** Response schemas of the payment operations. */

export const processor = named(
  'Processor',
  stringEnum(processorNames, {
    description: 'The payment processor; simulated only under `serve --simulate`',
    examples: ['simulated'],
  }),
);
export const smallestUnit = 'In the smallest unit of the currency';
export const currency = Type.String({
  pattern: '^[A-Z]{3}$',
  description: 'ISO 4217 code',
  examples: ['EUR'],
});
export const priceState = named(
  'Price',
  strictObject(
    {
      amount: Type.Integer({ description: `What is charged. ${smallestUnit}` }),
      currency,
      unit_amount: Type.Optional(
        Type.Integer({ description: 'The price of one piece, on a route with a quantity' }),
      ),
      quantity: Type.Optional(Type.Integer({ description: 'On a route with a quantity' })),
    },
    { examples: [{ amount: 2100, currency: 'EUR', unit_amount: 1050, quantity: 2 }] },
  ),
);

export const paid = Type.Object(
  { message: Type.Object({ message: Type.Literal('Payment successful!'), charge_id: Type.String() }) },
  { examples: [{ message: { message: 'Payment successful!', charge_id: 'ch_3PqX2eZvKYlo' } }] },
);
const refundExample = {
  refund_id: 'ref_019e2b6d01c27b0e9d44',
  payment_id: 'pay_019e2b6c5f803d1f5a7c',
  status: 'succeeded',
  amount: 250,
  currency: 'EUR',
  processor_refund_id: 're_3PqX2eZvKYlo',
  created_at: '2026-11-21T10:05:00.000Z',
};
export const refundState = named(
  'Refund',
  strictObject(
    {
      refund_id: Type.String(),
      payment_id: Type.String(),
      status: named('RefundStatus', stringEnum(refundStates)),
      amount: Type.Integer({ description: smallestUnit }),
      currency,
      processor_refund_id: nullable(Type.String()),
      created_at: timestamp,
    },
    { examples: [refundExample] },
  ),
);
const disputeState = named(
  'Dispute',
  strictObject({
    id: Type.String(),
    amount: Type.Integer({ description: smallestUnit }),
    status: Type.String({ description: 'In the words of the processor' }),
    reason: Type.String({ description: 'In the words of the processor' }),
  }),
);
const paidItem = named(
  'PaidItem',
  strictObject(
    {
      table: Type.String(),
      id: nullable(Type.String()),
      status: named('PaidItemStatus', stringEnum(paidItemStates)),
    },
    { description: 'The item that the route makes when the charge succeeds' },
  ),
);
const emptyForBuyer = 'empty if the payment was read with its client secret';
const paymentPrice = named(
  'PaymentPrice',
  strictObject(
    {
      type: named(
        'PaymentPriceType',
        stringEnum(['payer', 'fixed', 'table'], {
          description: 'payer: the buyer chose the amount, within the limits of the route',
        }),
      ),
      table: Type.Optional(Type.String({ description: 'The table of the price' })),
      id: Type.Optional(Type.String({ description: 'The item of the price' })),
      unit_amount: Type.Optional(Type.Integer({ description: `The price of one piece. ${smallestUnit}` })),
      quantity: Type.Optional(Type.Integer()),
    },
    { description: 'How the price of the route gave the amount' },
  ),
);
export const paymentStatus = named('PaymentStatus', stringEnum(storedChargeStates));
export const paymentState = named(
  'Payment',
  strictObject(
    {
      id: Type.String(),
      status: paymentStatus,
      processor,
      amount: Type.Integer({ description: smallestUnit }),
      currency,
      price: nullable(paymentPrice),
      charge_id: nullable(Type.String()),
      decline_code: nullable(declineCode),
      next_action: documentedAs(Type.Optional(nextAction), nextAction),
      created_at: timestamp,
      metadata: Type.Record(Type.String(), Type.String(), {
        description: `Your data about the payment; ${emptyForBuyer}`,
      }),
      description: nullable(Type.String()),
      statement_descriptor_suffix: nullable(Type.String()),
      item: nullable(paidItem),
      amount_refunded: Type.Integer({ description: 'The amount that was or may have been refunded' }),
      refunds: Type.Array(refundState),
      disputes: Type.Array(disputeState, { description: `Chargebacks and inquiries; ${emptyForBuyer}` }),
    },
    {
      examples: [
        {
          id: 'pay_019e2b6c5f803d1f5a7c',
          status: 'succeeded',
          processor: 'stripe',
          amount: 1050,
          currency: 'EUR',
          price: { type: 'table', table: 'prices', id: 'poster', unit_amount: 525, quantity: 2 },
          charge_id: 'ch_3PqX2eZvKYlo',
          decline_code: null,
          created_at: '2026-11-21T10:00:00.000Z',
          metadata: { sku: 'poster', quantity: '2' },
          description: 'Two posters',
          statement_descriptor_suffix: 'POSTERS',
          item: null,
          amount_refunded: 250,
          refunds: [refundExample],
          disputes: [],
        },
      ],
    },
  ),
);
/** `listPayments` returns a page, or one payment for `idempotency_key`. */
export const foundPayments = Type.Union([
  named('PaymentPage', pageSchema(paymentState)),
  named('PaymentFound', strictObject({ statusCode: statusOk, body: paymentState })),
]);
/** Headers of the responses to a charge and to a refund. */
export const paymentHeaders: Headers = {
  'Payment-Id': Type.String({ description: 'The id of the payment' }),
  Location: Type.String({ description: 'The path of the payment' }),
  'Idempotent-Replayed': Type.Unsafe({
    type: 'string',
    const: 'true',
    description: 'This is the response to an earlier request with the same idempotency key',
  }),
};
export const chargeHeaders: Headers = {
  ...paymentHeaders,
  'Payment-Client-Secret': Type.String({
    description: 'Reads this payment, and nothing else, without an API key; sent to publishable keys',
    examples: ['pcs_rV8Jw0y2mYk3u1d7cQp5tZ4nB6xL9sEoH0aGfTiUvWc'],
  }),
};
export const refundHeaders: Headers = {
  'Refund-Id': Type.String({ description: 'The id of the refund' }),
  ...paymentHeaders,
};
