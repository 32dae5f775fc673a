import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type {
  FastifyContextConfig,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  HTTPMethods,
  RouteShorthandOptions,
} from 'fastify';
import type { Static, TProperties, TSchema } from 'typebox';
import type { Access } from '../../access/scopes.ts';
import { defined } from '../../defined.ts';
import { type LegacyErrorFields, success } from '../../envelope.ts';
import { invalidRequest, ServiceError } from '../../errors.ts';
import { emptyWhenAbsent, errorResponses, type Headers, noQuery } from '../response/schemas.ts';
import { sendEnvelope } from '../response/send.ts';
import type { Listener } from './listener.ts';

/** Adds the routes of one family to an app. */
export type Routes = (app: App) => void | Promise<void>;
export type App = FastifyInstance<
  Listener['server'],
  FastifyRequest['raw'],
  FastifyReply['raw'],
  FastifyInstance['log'],
  TypeBoxTypeProvider
>;

/** The schemas of a request. A part without a schema is not checked, except the query. */
export interface RequestSchemas {
  readonly params?: TSchema;
  /** Default: no query is allowed. `any`: the query is not checked. */
  readonly query?: TSchema | 'any';
  readonly headers?: TSchema;
  /** Headers that the OpenAPI document shows, and no validator checks. */
  readonly documentedHeaders?: TSchema;
  readonly body?: TSchema;
  /** Default: JSON. `form`: URL-encoded, with the fields of `body`. `bytes`: a Buffer, of any content type. */
  readonly bodyType?: 'form' | 'bytes';
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

/** Error responses with fields next to `error`. */
export interface LegacyErrors {
  /** The name of the error response in the OpenAPI document. */
  readonly name: string;
  readonly schemas: TProperties;
  readonly fields: LegacyErrorFields;
}

/** What an operation takes, what it responds, and what it does. */
export interface Operation<Schemas extends RequestSchemas = RequestSchemas> {
  /** `operationId` in the OpenAPI document, which leaves out an operation without one. */
  readonly id?: string;
  readonly summary?: string;
  readonly description?: string;
  /** Further settings that the guard of the route reads. */
  readonly config?: Omit<FastifyContextConfig, 'access' | 'legacyErrorFields' | 'guard'>;
  /** Further options of the framework. */
  readonly options?: Pick<RouteShorthandOptions, 'errorHandler' | 'exposeHeadRoute' | 'onRequest'>;
  readonly request?: Schemas;
  /** The response with status 200, of `responseSchema`, `messageResponse` or `pageResponse`. */
  readonly response?: object;
  /** Responses with another status. `4xx` and `5xx` replace the usual error responses. */
  readonly otherResponses?: Readonly<Record<string, object>>;
  /** Headers of the error responses, in the OpenAPI document. */
  readonly errorHeaders?: Headers;
  readonly legacyErrors?: LegacyErrors;
  /** Headers of a response whose body `handle` returns. */
  readonly responseHeaders?: Readonly<Record<string, string>>;
  /** Returns the `body` of the response, or the reply if it has sent the response itself. Throws ServiceError. */
  readonly handle: (request: RequestOf<Schemas>, reply: FastifyReply) => unknown;
}

/** An operation of a family. */
export interface ListedOperation extends Omit<Operation, 'handle'> {
  readonly method: HTTPMethods;
  readonly path: string;
  readonly access: Access;
  /** Only ever receives requests that the schemas of the operation allow. */
  readonly handle: Operation<never>['handle'];
}

/** @param path with `:NAME` for each parameter */
export function operation<const Schemas extends RequestSchemas>(
  method: HTTPMethods,
  path: string,
  access: Access,
  each: Operation<Schemas>,
): ListedOperation {
  return { method, path, access, ...each };
}

/** The routes of a family of operations. @param tag its group in the OpenAPI document, for those with an id */
export function routeFamily(tag: string, operations: readonly ListedOperation[]): Routes {
  return async (app) => {
    for (const each of operations) {
      const { bodyType } = each.request ?? {};
      if (bodyType === undefined) addRoute(app, tag, each);
      // The parsers of a scope apply to its routes alone.
      else
        await app.register(async (scope) => {
          scope.removeAllContentTypeParsers();
          bodyParsers[bodyType](scope as unknown as App);
          addRoute(scope as unknown as App, tag, each);
        });
    }
  };
}

function addRoute(app: App, tag: string, each: ListedOperation): void {
  const { method, path, access, config, options, legacyErrors, responseHeaders = {} } = each;
  const handle = each.handle as Operation['handle'];
  app.route({
    ...options,
    method,
    url: path,
    config: { ...config, access, ...defined({ legacyErrorFields: legacyErrors?.fields }) },
    ...(each.request?.isBodyOptional && { preValidation: emptyWhenAbsent }),
    schema: routeSchema(tag, each),
    handler: async (request, reply) => {
      // A reply is a thenable of the framework: once it is sent, awaiting it yields undefined.
      const body = await handle(request as RequestOf<RequestSchemas>, reply);
      return reply.sent ? reply : sendEnvelope(reply.headers(responseHeaders), success(body));
    },
  });
}

function routeSchema(tag: string, each: ListedOperation) {
  const { id, summary, description, request = {}, response, legacyErrors } = each;
  const { params, query = noQuery, headers, documentedHeaders, body, bodyType } = request;
  const parts = defined({
    operationId: id,
    summary,
    description,
    params,
    querystring: query === 'any' ? undefined : query,
    headers,
    documentedHeaders,
    consumes: bodyType === 'form' ? [formType] : undefined,
    body,
  });
  const responses = {
    ...defined({ 200: response }),
    ...errorResponses(legacyErrors?.name, legacyErrors?.schemas, each.errorHeaders),
    ...each.otherResponses,
  };
  return {
    tags: [tag],
    hide: id === undefined,
    ...parts,
    response: responses,
  };
}

const formType = 'application/x-www-form-urlencoded';

/** How a scope reads bodies that are not JSON; each adds the one parser of the scope. */
const bodyParsers = {
  form: (scope: App) => {
    scope.addContentTypeParser(formType, { parseAs: 'string' }, (_request, body, done) => {
      const parameters = [...new URLSearchParams(body as string)];
      const fields = Object.fromEntries(parameters);
      // RFC 6749, 3.1.
      if (Object.keys(fields).length === parameters.length) done(null, fields);
      else done(invalidRequest(undefined, 'The form has a parameter more than once.'));
    });
    scope.addHook('onRequest', (request, _reply, done) => done(formTypeError(request)));
  },
  bytes: (scope: App) => {
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, (request, body, done) =>
      scope.queue.addForBody(request.countedAddress, body.length, () => done(null, body)),
    );
  },
};

function formTypeError({ headers }: FastifyRequest): ServiceError | undefined {
  const [type = ''] = (headers['content-type'] ?? '').split(';');
  if (type.trim().toLowerCase() === formType && headers['content-encoding'] === undefined) return undefined;
  return new ServiceError('unsupported_media_type', {
    param: 'Content-Type',
    message: `The body must be a form, sent with "Content-Type: ${formType}".`,
  });
}
