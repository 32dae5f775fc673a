import type { FastifyRequest } from 'fastify';
import { type TSchema, Type } from 'typebox';
import { errorKinds } from '../../errors.ts';

/** Schemas that several doors share. Unknown fields are refused everywhere: nothing sent is silently dropped. */
export const closed = { additionalProperties: false };

/** No operation of the document has query parameters. */
export const noQuery = Type.Object({}, closed);

/** For an operation that needs no words; an empty object is one way to say nothing. */
export const noBody = Type.Object({}, closed);

/** A request without a body is one with an empty object; `null` is neither. */
export function emptyWhenAbsent(request: FastifyRequest, _reply: unknown, done: () => void): void {
  if (request.body === undefined) request.body = {};
  done();
}

/** An answer as the OpenAPI document tells it. */
export function responseSchema(body: TSchema, description: string): TSchema {
  return Type.Object({ statusCode: Type.Literal(200), body }, { ...closed, description });
}

const errorSchema = Type.Object(
  {
    type: Type.String(),
    code: Type.Union(Object.keys(errorKinds).map((code) => Type.Literal(code))),
    message: Type.String(),
    param: Type.Optional(Type.String()),
    decline_code: Type.Optional(Type.String()),
    retryable: Type.Boolean(),
    request_id: Type.String(),
  },
  { $id: 'Error' },
);

/** Every error answer; `beside` are the documented fields of the operation as they read on a failure. */
export function errorResponseSchema(beside: Record<string, TSchema> = {}): TSchema {
  return Type.Object(
    { statusCode: Type.Integer(), body: Type.Object({ ...beside, error: errorSchema }) },
    { description: 'Refused or failed; `body.error.code` says which' },
  );
}
