import type { RequestListener } from 'node:http';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { countedAddress } from '../../access/counted-address.ts';
import { anybody, type Caller } from '../../access/permission.ts';
import { ServiceError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import {
  chargeBodyBytesMax,
  eventBodyBytesMax,
  keylessBodyBytesMax,
  pathParameterCharactersMax,
  requestBodyBytesMax,
} from '../limits.ts';
import type { Authorizer } from './authorize.ts';
import type { CallerAddresses } from './caller-address.ts';
import type { CrossOrigin } from './cors.ts';
import { asServiceError, isConnectionEnd, logFailure, requestFields, sendError } from './error-handler.ts';
import type { Listener } from './listener.ts';
import { RejectionLog } from './rejection-log.ts';
import { newRequestId } from './request-id.ts';
import { countRequests } from './request-metrics.ts';
import { KnownPaths, type ServedRoute } from './route-table.ts';
import type { App, Routes } from './routes.ts';
import { securityHeaders } from './security-headers.ts';
import { parseStrictJson } from './strict-json.ts';
import { Uploads } from './uploads.ts';
import { useStrictValidation } from './validation.ts';

export interface AppOptions {
  readonly log: Log;
  readonly gate: Pick<Authorizer, 'admit'>;
  readonly crossOrigin: CrossOrigin;
  /** Whether browsers reach the service by https alone. */
  readonly isHttpsOnly: boolean;
  /** Whose request it is, where proxies stand in front. */
  readonly callerAddresses: CallerAddresses;
  /** Without it nothing is counted. */
  readonly metrics?: Metrics | undefined;
  /** Whether the service is stopping: connections are then not kept. */
  readonly isStopping: () => boolean;
  readonly routes: readonly Routes[];
}

export interface HttpApp {
  /** Every route, and what a request on it needs. */
  readonly routes: readonly ServedRoute[];
  close(): Promise<void>;
}

/** The HTTP face of the service on one listener; requests reach it once `openApp` resolves. */
export async function openApp(listener: Listener, options: AppOptions): Promise<HttpApp> {
  let requests: RequestListener = () => undefined;
  const paths = new KnownPaths();
  const app = Fastify({
    serverFactory: (handler) => {
      requests = handler as RequestListener;
      return listener.server;
    },
    // The listener answers what the parser refuses, also before this door is open.
    clientErrorHandler: () => undefined,
    frameworkErrors: (error, unrouted, reply) => {
      const request = unrouted as FastifyRequest;
      // No hook has run.
      request.address = addressOf(request, options);
      const beside = paths.besideError(request.method, request.url);
      sendError(options.log, error, request, reply as unknown as FastifyReply, beside);
    },
    genReqId: newRequestId,
    requestIdHeader: false,
    bodyLimit: requestBodyBytesMax,
    routerOptions: { maxParamLength: pathParameterCharactersMax },
    return503OnClosing: false,
  }).withTypeProvider<TypeBoxTypeProvider>();

  // Answers are text already; the response schemas are for the OpenAPI document alone.
  app.setSerializerCompiler(() => JSON.stringify);
  useStrictValidation(app);
  takeStrictJsonAlone(app);
  guardRequests(app as App, paths, options, listener);
  countRequests(app as App, options.metrics);
  app.setErrorHandler((error, request, reply) => sendError(options.log, error, request, reply));
  const rejections = new RejectionLog(options.log);
  app.decorate('rejections', rejections);
  app.decorate('tellBrokenAnswer', (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    if (!isConnectionEnd(error)) logFailure(options.log, asServiceError(error), request, reply);
  });
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

function takeStrictJsonAlone(
  app: Pick<FastifyInstance, 'removeAllContentTypeParsers' | 'addContentTypeParser'>,
): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    try {
      checkEncoding(request);
      done(null, parseStrictJson(body as Buffer));
    } catch (error) {
      done(error as Error);
    }
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

function refusalOfPath(
  { url, is404, routeOptions }: FastifyRequest,
  paths: KnownPaths,
): ServiceError | undefined {
  if (!isReadableQuery(url)) {
    return new ServiceError('invalid_request', {
      message: 'The query has a percent sign that encodes no UTF-8.',
    });
  }
  return is404 || !paths.isLiteral(url, routeOptions.url) ? paths.refusal(url) : undefined;
}

/** The framework takes what is no percent-encoding of UTF-8 literally, and so for another value than was meant. */
function isReadableQuery(url: string): boolean {
  const start = url.indexOf('?');
  if (start < 0) return true;
  try {
    decodeURIComponent(url.slice(start));
    return true;
  } catch {
    return false;
  }
}

function addressOf({ socket, headers }: FastifyRequest, { callerAddresses }: AppOptions): string {
  return callerAddresses.of(socket.remoteAddress ?? '', headers);
}

/** Of routes that anybody may send to, or whoever has the key of a web page. */
const bodyBytesMax: Readonly<Record<string, number>> = {
  public: keylessBodyBytesMax,
  signed: eventBodyBytesMax,
  'payments:create': chargeBodyBytesMax,
};

/** Whoever looks after an overloaded service must hear what is the matter with it. */
const neverShed: ReadonlySet<string | undefined> = new Set(['/livez', '/readyz', '/metrics']);

function guardRequests(app: App, paths: KnownPaths, options: AppOptions, { load }: Listener): void {
  const uploads = new Uploads();
  const { log, gate, crossOrigin, isHttpsOnly, isStopping } = options;
  // The framework takes no object that all requests would share; each is given it when it comes.
  app.decorateRequest('caller', null as unknown as Caller);
  app.decorateRequest('address', '');
  app.addHook('onRoute', (route) => {
    if (route.config?.access === undefined) throw new Error(`${route.url} does not say what it needs`);
    paths.add(route);
    const bound = bodyBytesMax[route.config.access];
    if (bound !== undefined) route.bodyLimit = bound;
  });
  app.addHook('onRequest', (request, reply, done) => {
    const access = request.routeOptions.config?.access;
    request.caller = anybody;
    request.address = addressOf(request, options);
    reply.header('request-id', request.id).headers(securityHeaders(access, isHttpsOnly));
    if (isStopping()) reply.header('connection', 'close');
    crossOrigin.mark(request, reply, access);
    // Before anything is done for it: a charge that is shed here has left no trace.
    const isVital = neverShed.has(request.routeOptions.url);
    const overload = load.refusal(request.raw, reply.raw, countedAddress(request.address), isVital);
    if (overload !== undefined) {
      // At the end of the turn: told at once, callers who ask again at once would keep the turn from ending, and so what was let in.
      setImmediate(() => sendError(log, overload, request, reply));
      return;
    }
    const bound = access === undefined ? undefined : bodyBytesMax[access];
    const comeIn = () => {
      const refusal = bound === undefined ? undefined : uploads.refusal(request, reply, bound);
      if (refusal !== undefined) {
        done(refusal);
        return;
      }
      if (!crossOrigin.answerPreflight(request, reply, paths)) done(refusalOfPath(request, paths));
    };
    const admitting = gate.admit(request, reply, access);
    if (admitting === undefined) comeIn();
    else admitting.then(comeIn, done);
  });
  if (!log.tellsDetails) return;
  app.addHook('onResponse', (request, reply, done) => {
    if (reply.statusCode < 400) log.debug('request', requestFields(request, reply));
    done();
  });
}
