import type { FastifyRequest } from 'fastify';
import { type TSchema, Type } from 'typebox';
import { errorKinds } from '../../errors.ts';

/** Unknown fields are rejected everywhere: no part of a request is silently dropped. */
export const closed = { additionalProperties: false };

/** For an operation without query parameters. */
export const noQuery = Type.Object({}, closed);

/** For an operation without a body; an empty object is accepted too. */
export const noBody = Type.Object({}, closed);

/** Treats a missing body as an empty object; `null` stays invalid. */
export function emptyWhenAbsent(request: FastifyRequest, _reply: unknown, done: () => void): void {
  if (request.body === undefined) request.body = {};
  done();
}

/** A response in the OpenAPI document. */
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

/** An error response in the OpenAPI document. @param beside the documented fields of the operation in an error response */
export function errorResponseSchema(beside: Record<string, TSchema> = {}): TSchema {
  return Type.Object(
    { statusCode: Type.Integer(), body: Type.Object({ ...beside, error: errorSchema }) },
    { description: 'The request failed; `body.error.code` is the reason' },
  );
}
