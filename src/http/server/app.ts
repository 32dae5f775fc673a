import type { RequestListener } from 'node:http';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import { Ajv, type ValidateFunction } from 'ajv';
import type { FastifyInstance } from 'fastify';
import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import { ServiceError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { parseStrictJson } from '../../strict-json.ts';
import type { Metrics } from '../../telemetry.ts';
import { activeRequest, newRequestId } from './active-request.ts';
import { asServiceError, isConnectionEnd, logFailure, requestFields, sendError } from './error-handler.ts';
import type { FairQueue } from './fair-queue.ts';
import { type GuardOptions, guardRequests, identify } from './guard.ts';
import type { Listener } from './listener.ts';
import type { App, Routes } from './operation.ts';
import { RejectionLog } from './rejection-log.ts';
import { noRoute, RequestCounts, RouteTable, type ServedRoute } from './route-table.ts';

/** Any usual item of 400 KB fits with room to spare; one with every byte escaped as \u00XX does not. */
export const requestBodyBytesMax = 1024 * 1024;
/** The longest path parameter that can be valid is a table name of 255 characters, each percent-encoded. */
const pathParameterCharactersMax = 255 * 3;

declare module 'fastify' {
  interface FastifyInstance {
    /** Whose turn it is to be served, for work of more than a millisecond. */
    readonly queue: FairQueue;
  }
}

export interface AppOptions extends GuardOptions {
  /** Without metrics nothing is counted. */
  readonly metrics?: Metrics | undefined;
  readonly routes: readonly Routes[];
}

export interface HttpApp {
  /** Every route, with the access that it requires. */
  readonly routes: readonly ServedRoute[];
  close(): Promise<void>;
}

/** The HTTP application on one listener. It receives requests from the time `openApp` resolves. */
export async function openApp(listener: Listener, options: AppOptions): Promise<HttpApp> {
  let requests: RequestListener = () => undefined;
  const paths = new RouteTable();
  const app = Fastify({
    serverFactory: (handler) => {
      requests = handler as RequestListener;
      return listener.server;
    },
    // The listener responds to parser errors, also before the app is open.
    clientErrorHandler: () => undefined,
    frameworkErrors: (error, unrouted, reply) => {
      const request = unrouted as FastifyRequest;
      // No hook has run.
      identify(request, activeRequest(reply.raw), noRoute, options);
      const legacyFields = paths.config(request.method, request.url)?.legacyErrorFields;
      sendError(options.log, error, request, reply as unknown as FastifyReply, legacyFields);
    },
    genReqId: newRequestId,
    requestIdHeader: false,
    bodyLimit: requestBodyBytesMax,
    routerOptions: { maxParamLength: pathParameterCharactersMax },
    return503OnClosing: false,
  }).withTypeProvider<TypeBoxTypeProvider>();

  // Responses are text already; the response schemas are for the OpenAPI document only.
  app.setSerializerCompiler(() => JSON.stringify);
  useStrictValidation(app);
  const counts = new RequestCounts(options.metrics);
  app.decorate('requestCounts', counts);
  guardRequests(app as App, options, { load: listener.load, paths, counts });
  app.setErrorHandler((error, request, reply) => sendError(options.log, error, request, reply));
  const rejections = new RejectionLog(options.log);
  app.decorate('rejections', rejections);
  app.decorate('queue', listener.queue);
  acceptStrictJsonOnly(app as App);
  app.decorate('logBrokenResponse', (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    if (!isConnectionEnd(error)) logFailure(options.log, asServiceError(error), request, reply);
  });
  logServed(app as App, options.log);
  for (const routes of options.routes) await routes(app as App);

  await app.ready();
  listener.serve(requests);
  return {
    routes: paths.all(),
    close: async () => {
      await app.close();
      rejections.flush();
    },
  };
}

function acceptStrictJsonOnly(app: App): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    const bytes = body as Buffer;
    app.queue.addForBody(request.countedAddress, bytes.length, () => {
      try {
        checkEncoding(request);
        done(null, parseStrictJson(bytes));
      } catch (error) {
        done(error as Error);
      }
    });
  });
}

function checkEncoding({ headers }: FastifyRequest): void {
  const charset = /;\s*charset="?([^";\s]+)/i.exec(headers['content-type'] ?? '')?.[1];
  if (charset !== undefined && charset.toLowerCase() !== 'utf-8') {
    throw new ServiceError('unsupported_media_type', { param: 'Content-Type' });
  }
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new ServiceError('unsupported_media_type', { param: 'Content-Encoding' });
  }
}

/** Logs every served request, which costs more than a small request itself. */
function logServed(app: App, log: Log): void {
  if (!log.logsDetails) return;
  app.addHook('onResponse', (request, reply, done) => {
    if (reply.statusCode < 400) log.debug('request', requestFields(request, reply));
    done();
  });
}

/**
 * Validators that do not change a request: the default of Fastify would coerce 100 to "100" and drop unknown fields. Each is
 * compiled at its first request, so that the start of the service does not wait for all of them.
 */
export function useStrictValidation(app: Pick<FastifyInstance, 'setValidatorCompiler'>): void {
  const ajv = new Ajv({ meta: false, validateSchema: false });
  app.setValidatorCompiler(({ schema }) => {
    let validate: ValidateFunction | undefined;
    return (value: unknown) => {
      validate ??= ajv.compile(schema as object);
      return validate(value) ? { value } : { error: validate.errors ?? [] };
    };
  });
}
