import type { FastifyContextConfig, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';
import type { Static, TProperties, TSchema } from 'typebox';
import type { Access } from '../../access/scopes.ts';
import { type FieldsBesideError, success } from '../../envelope.ts';
import { emptyWhenAbsent, errorResponses, noQuery } from '../response/schemas.ts';
import { sendEnvelope } from '../response/send.ts';
import type { App, Routes } from './routes.ts';

/** The schemas of a request. A part without a schema is not checked, except the query. */
export interface RequestSchemas {
  readonly params?: TSchema;
  /** Default: no query is allowed. `any`: the query is ignored. */
  readonly query?: TSchema | 'any';
  readonly headers?: TSchema;
  /** Headers that the OpenAPI document shows, and no validator checks. */
  readonly documentedHeaders?: TSchema;
  readonly body?: TSchema;
  /** Whether a missing body counts as an empty object. */
  readonly isBodyOptional?: boolean;
}

type ValueOf<Schema> = Schema extends TSchema ? Static<Schema> : unknown;

export type RequestOf<Schemas extends RequestSchemas> = FastifyRequest<{
  Params: ValueOf<Schemas['params']>;
  Querystring: ValueOf<Schemas['query']>;
  Headers: ValueOf<Schemas['headers']>;
  Body: ValueOf<Schemas['body']>;
}>;

/** The fields that an operation documents for its success, in its error responses: clients may read only those. */
export interface LegacyErrorFields {
  /** The name of the error response in the OpenAPI document. */
  readonly name: string;
  readonly schemas: TProperties;
  readonly valuesFor: FieldsBesideError;
}

/** One operation of the interface: a method on a path, its schemas, and what it does. */
export interface Operation<Schemas extends RequestSchemas = RequestSchemas> {
  readonly method: HTTPMethods;
  /** With `:NAME` for each parameter. */
  readonly path: string;
  /** `operationId` in the OpenAPI document. */
  readonly id: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  /** Whether the OpenAPI document leaves the operation out. */
  readonly isHidden?: boolean;
  readonly access: Access;
  /** Further settings that the guard of the route reads. */
  readonly config?: Omit<FastifyContextConfig, 'access' | 'besideError' | 'guard'>;
  readonly request: Schemas;
  /** The response with status 200, of `responseSchema` or `pageOf`. */
  readonly response: object;
  /** The responses that are neither 200 nor an error, by status. */
  readonly otherResponses?: Readonly<Record<number, object>>;
  readonly legacyErrorFields?: LegacyErrorFields;
  /** Returns the `body` of the response, unless it has sent the response itself. Throws ServiceError. */
  readonly handle: (request: RequestOf<Schemas>, reply: FastifyReply) => unknown;
}

/** An operation in a list: its handler only ever receives requests that its schemas allow. */
export type ListedOperation = Operation<never>;

/** Infers the types of the request from its schemas. */
export function operation<const Schemas extends RequestSchemas>(each: Operation<Schemas>): ListedOperation {
  return each as unknown as ListedOperation;
}

/** The routes of a list of operations. */
export function routesOf(operations: readonly ListedOperation[]): Routes {
  return (app) => {
    for (const each of operations) addRoute(app, each as unknown as Operation);
  };
}

function addRoute(app: App, each: Operation): void {
  const { method, path, access, config, legacyErrorFields: legacy, request: schemas, handle } = each;
  app.route({
    method,
    url: path,
    config: { ...config, access, ...(legacy && { besideError: legacy.valuesFor }) },
    ...(schemas.isBodyOptional && { preValidation: emptyWhenAbsent }),
    schema: schemaOf(each),
    handler: async (request, reply) => {
      // A reply is a thenable of the framework: once it is sent, awaiting it yields undefined.
      const body = await handle(request as RequestOf<RequestSchemas>, reply);
      return reply.sent ? reply : sendEnvelope(reply, success(body));
    },
  });
}

function schemaOf(each: Operation) {
  const { id, tag, summary, description, isHidden = false, request, legacyErrorFields: legacy } = each;
  const { params, query = noQuery, headers, documentedHeaders, body } = request;
  const parts = {
    description,
    params,
    querystring: query === 'any' ? undefined : query,
    headers,
    documentedHeaders,
    body,
  };
  return {
    tags: [tag],
    hide: isHidden,
    operationId: id,
    summary,
    ...Object.fromEntries(Object.entries(parts).filter(([, part]) => part !== undefined)),
    response: {
      200: each.response,
      ...each.otherResponses,
      ...errorResponses(legacy?.name, legacy?.schemas),
    },
  };
}
