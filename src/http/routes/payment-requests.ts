import type { FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import { idempotencyScope } from '../../access/permission.ts';
import { defined } from '../../defined.ts';
import { invalidRequest } from '../../errors.ts';
import {
  amountMax,
  descriptionCharactersMax,
  emailDomainCharactersMax,
  emailLocalPartCharactersMax,
  metadataKeysMax,
  paymentsPageMax,
  statementDescriptorSuffixCharactersMax,
  tokenCharactersMax,
} from '../../payments/limits.ts';
import type { StoredChargeState, UncheckedChargeRequest } from '../../payments/types.ts';
import { processorNames } from '../../processors/processor.ts';
import { parseTimestamp } from '../../time.ts';
import { documentedAs, named } from '../response/described.ts';
import { numberInQuery, wholeNumber } from '../response/pagination.ts';
import { strictObject } from '../response/schemas.ts';
import type { RequestOf } from '../server/operation.ts';
import { paymentStatus, processor as processorName } from './payment-responses.ts';

/** The requests of the payment operations: their schemas, and what the domain receives of them. */

export const routeParams = Type.Object({
  processor: documentedAs(Type.String(), processorName),
  route_id: Type.String({
    description: 'A payment route from the settings; charge by default',
    examples: ['charge'],
  }),
});
export const paymentParams = Type.Object({
  ...routeParams.properties,
  payment_id: Type.String({ examples: ['pay_019e2b6c5f803d1f5a7c'] }),
});
export const eventParams = Type.Object({
  processor: documentedAs(Type.String({ description: 'The payment processor' }), {
    type: 'string',
    enum: processorNames.filter((name) => name !== 'simulated'),
  }),
});
const body = named(
  'PaymentRequest',
  strictObject(
    {
      amount: documentedAs(
        Type.Number({
          description:
            `In the smallest unit of the currency, 1 to ${amountMax}: 1050 is EUR 10.50 or JPY 1050. ` +
            'A route with the unit major takes 10.50',
        }),
        { type: 'number', exclusiveMinimum: 0, maximum: amountMax },
      ),
      currency: documentedAs(Type.String({ description: 'ISO 4217 code, upper or lower case' }), {
        type: 'string',
        pattern: '^[A-Za-z]{3}$',
      }),
      token: documentedAs(
        Type.String({
          minLength: 1,
          description: `Card token of the processor, at most ${tokenCharactersMax} visible ASCII characters`,
        }),
        { type: 'string', minLength: 1, maxLength: tokenCharactersMax },
      ),
      return_url: Type.Optional(
        Type.String({
          description:
            'Where the cardholder returns after authenticating at their bank. Without it, a card whose bank requires that is ' +
            'declined. On an origin of the publishable key, or of `return_urls` of the payment route',
          examples: ['https://shop.example/paid'],
        }),
      ),
      metadata: Type.Optional(
        Type.Record(Type.String(), Type.String(), {
          description: `Your data about the payment, at most ${metadataKeysMax} keys. Stripe receives it with the charge`,
        }),
      ),
      description: documentedAs(
        Type.Optional(
          Type.String({ description: 'What the payment is for; the processor shows it on its dashboard' }),
        ),
        { type: 'string', minLength: 1, maxLength: descriptionCharactersMax },
      ),
      statement_descriptor_suffix: documentedAs(
        Type.Optional(
          Type.String({
            description:
              'What follows the name of the shop on the statement of the card: printable ASCII characters with at least one ' +
              'letter, without < > \\ \' " *',
          }),
        ),
        { type: 'string', minLength: 1, maxLength: statementDescriptorSuffixCharactersMax },
      ),
      receipt_email: documentedAs(
        Type.Optional(
          Type.String({
            description:
              'The processor sends its receipt to this address; the service erases it when the charge ends',
          }),
        ),
        {
          type: 'string',
          format: 'email',
          maxLength: emailLocalPartCharactersMax + 1 + emailDomainCharactersMax,
        },
      ),
    },
    { examples: [{ amount: 1050, currency: 'EUR', token: 'tok_paid' }] },
  ),
);
export const idempotencyHeaders = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({
      description: 'Requests with the same key and body are charged once and get the same response',
    }),
  ),
});

export const refundBody = named(
  'RefundRequest',
  strictObject(
    {
      amount: Type.Optional(
        Type.Number({ description: 'In the unit of the route; default: the whole remaining amount' }),
      ),
    },
    { examples: [{ amount: 250 }] },
  ),
);

/** The parameters depend on the route: the OpenAPI document shows them as one object, whose keys are the parameters. */
export const priceQuery = documentedAs(
  Type.Record(Type.String(), Type.String()),
  Type.Object({
    metadata: Type.Optional(
      Type.Record(Type.String(), Type.String(), {
        description:
          'The metadata that the price depends on, each key as a parameter of its own: `?sku=poster&quantity=2`',
      }),
    ),
  }),
);

/** Payments of a page without `limit`. */
const pageItemsDefault = 20;

export const paymentListQuery = strictObject({
  idempotency_key: Type.Optional(
    Type.String({
      description:
        'Finds the payment of a request after its response was lost; no other parameter is allowed',
    }),
  ),
  limit: numberInQuery('The maximum number of payments', {
    minimum: 1,
    maximum: paymentsPageMax,
    default: pageItemsDefault,
  }),
  after: Type.Optional(Type.String({ description: 'Start after this id: `next` of the previous page' })),
  since: Type.Optional(
    Type.String({ description: 'Only payments created at or after this date or time (RFC 3339)' }),
  ),
  status: documentedAs(
    Type.Optional(
      Type.Unsafe<StoredChargeState>({ ...paymentStatus, description: 'Only payments in this state' }),
    ),
    paymentStatus,
  ),
});

/** Throws `invalid_request`. */
export function parseList({
  limit,
  after,
  since,
  status,
}: Omit<Static<typeof paymentListQuery>, 'idempotency_key'>) {
  return {
    // The payments domain checks the limits.
    limit: limit === undefined ? pageItemsDefault : wholeNumber(limit),
    after,
    since: since === undefined ? undefined : parseTime('since', since),
    status,
  };
}

/** Throws `invalid_request`. */
export function parseTime(param: string, text: string): number {
  const time = parseTimestamp(text);
  if (time !== undefined) return time;
  const message = `${param} must be a date (2026-11-21) or a timestamp (2026-11-21T10:00:00Z).`;
  throw invalidRequest(param, message);
}

export const chargeSchemas = { params: routeParams, headers: idempotencyHeaders, body };

export function routeIn(request: { readonly params: Static<typeof routeParams> }) {
  return { processor: request.params.processor, route: request.params.route_id };
}

export function paymentIn({ params }: { readonly params: Static<typeof paymentParams> }) {
  return { processor: params.processor, route: params.route_id, paymentId: params.payment_id };
}

export function chargeRequest(
  request: RequestOf<typeof chargeSchemas>,
  buyerAddress: string | undefined,
): UncheckedChargeRequest {
  const { body, caller, headers, id } = request;
  const { return_url: returnUrl, statement_descriptor_suffix, receipt_email, ...fields } = body;
  const { rights } = caller;
  return {
    ...routeIn(request),
    ...fields,
    ...defined({ returnUrl }),
    returnOrigins: rights === undefined ? 'loopback' : (rights.origins ?? []),
    statementDescriptorSuffix: statement_descriptor_suffix,
    receiptEmail: receipt_email,
    idempotencyKey: headers['idempotency-key'],
    needsPrice: rights?.kind === 'publishable',
    caller: idempotencyScope(caller),
    buyerAddress,
    requestId: id,
    traceparent: traceparent(request),
  };
}

function traceparent({ raw }: Pick<FastifyRequest, 'raw'>): string | undefined {
  return raw.headers.traceparent?.toString();
}
