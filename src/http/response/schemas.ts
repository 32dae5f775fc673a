import type { FastifyRequest } from 'fastify';
import { type TObjectOptions, type TProperties, type TSchema, type TSchemaOptions, Type } from 'typebox';
import { errorCodes, errorTypes } from '../../errors.ts';
import { ownDeclineCodes } from '../../payments/types.ts';
import { commonDeclineCodes } from '../../processors/processor.ts';
import { documentedAs, named } from './described.ts';

/** An object without further fields. Requests with unknown fields are rejected: no part of a request is silently dropped. */
export function strictObject<Fields extends TProperties>(fields: Fields, options: TObjectOptions = {}) {
  return Type.Object(fields, { additionalProperties: false, ...options });
}

/** For an operation without query parameters. */
export const noQuery = strictObject({});

/** For an operation without a body; an empty object is accepted too. */
export const noBody = strictObject({});

/** Treats a missing body as an empty object; `null` stays invalid. */
export function emptyWhenAbsent(request: FastifyRequest, _reply: unknown, done: () => void): void {
  if (request.body === undefined) request.body = {};
  done();
}

/** A string of a closed list. */
export function stringEnum(values: readonly string[], options: object = {}): TSchema {
  return Type.Unsafe({ type: 'string', enum: values, ...options });
}

/** A value, or null. @param options of the union */
export function nullable<Schema extends TSchema>(schema: Schema, options: TSchemaOptions = {}) {
  return Type.Union([schema, Type.Null()], options);
}

export const timestamp = Type.String({ format: 'date-time', examples: ['2026-11-21T10:00:00.000Z'] });

/** Response headers in the OpenAPI document, by name. */
export type Headers = Readonly<Record<string, TSchema>>;

const everyResponse: Headers = {
  'Request-Id': Type.String({ description: 'Finds the request in the log' }),
};
const errorResponse: Headers = {
  ...everyResponse,
  'Retry-After': Type.Integer({ description: 'Wait so many seconds before the request is sent again' }),
};

export const statusOk = Type.Unsafe<200>({ type: 'integer', const: 200 });

/** A response in the OpenAPI document. */
export function responseSchema(body: TSchema, description: string, headers: Headers = {}) {
  return envelopeSchema(strictObject({ statusCode: statusOk, body }), description, headers);
}

/** A response that only says what was done. */
export function messageResponse(
  message: string,
  description: string,
  options: TObjectOptions = { additionalProperties: false },
) {
  return responseSchema(Type.Object({ message: Type.Literal(message) }, options), description);
}

/** A whole response in the OpenAPI document, with `statusCode` and `body`. */
export function envelopeSchema(schema: TSchema, description: string, headers: Headers = {}) {
  return {
    description,
    headers: { ...everyResponse, ...headers },
    content: { 'application/json': { schema } },
  };
}

export const declineCode = named(
  'DeclineCode',
  Type.Union([stringEnum([...commonDeclineCodes, ...ownDeclineCodes]), Type.String()], {
    description: 'Why the card was declined. A processor may use further words of its own',
    examples: ['insufficient_funds'],
  }),
);

export const nextAction = named(
  'NextAction',
  strictObject(
    {
      type: Type.Literal('redirect'),
      url: Type.String({ description: 'The bank’s page; it sends the cardholder on to `return_url`' }),
      client_secret: Type.Optional(
        Type.String({ description: 'For pages that show the bank’s page with the processor’s own script' }),
      ),
    },
    { description: 'What the cardholder must do before the charge can be made' },
  ),
);

const expectedPrice = named(
  'ExpectedPrice',
  strictObject(
    { amount: Type.Integer(), currency: Type.String() },
    {
      description: 'The price of the payment, with `amount_mismatch`; in the smallest unit of the currency',
    },
  ),
);

const error = named(
  'Error',
  strictObject(
    {
      type: named('ErrorType', stringEnum(errorTypes, { description: 'The family of the error' })),
      code: named('ErrorCode', stringEnum(errorCodes, { description: 'The exact case' })),
      message: Type.String({ description: 'A sentence for people; it can change' }),
      param: Type.Optional(Type.String({ description: 'The field, header or path parameter at fault' })),
      decline_code: documentedAs(Type.Optional(declineCode), declineCode),
      next_action: documentedAs(Type.Optional(nextAction), nextAction),
      expected: Type.Optional(expectedPrice),
      retryable: Type.Boolean({ description: 'Whether the same request, sent again, may succeed' }),
      request_id: Type.String(),
    },
    {
      examples: [
        {
          type: 'card',
          code: 'card_declined',
          message: 'The card was declined.',
          param: 'token',
          decline_code: 'insufficient_funds',
          retryable: false,
          request_id: 'req_01k9m2c7f3x5q8',
        },
      ],
    },
  ),
);

/**
 * The error responses of an operation in the OpenAPI document.
 *
 * @param name of the schema, for an operation whose errors have legacy fields
 */
export function errorResponses(
  name = 'ErrorResponse',
  legacyFields: TProperties = {},
  headers: Headers = {},
) {
  const statusCode = Type.Integer({ minimum: 400, maximum: 599 });
  const body = strictObject({ ...legacyFields, error });
  const envelope: TSchema = named(name, strictObject({ statusCode, body }));
  const failed = {
    description: 'The request failed; `body.error.code` is the reason',
    headers: { ...errorResponse, ...headers },
    content: { 'application/json': { schema: envelope } },
  };
  return { '4xx': failed, '5xx': failed };
}
