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
  readonly authorizer: Pick<Authorizer, 'admit'>;
  readonly crossOrigin: CrossOrigin;
  /** Whether browsers reach the service by https only. */
  readonly isHttpsOnly: boolean;
  /** Finds the caller's address behind trusted proxies. */
  readonly callerAddresses: CallerAddresses;
  /** Without metrics nothing is counted. */
  readonly metrics?: Metrics | undefined;
  /** Whether the service is shutting down: responses then close their connections. */
  readonly isStopping: () => boolean;
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
  const paths = new KnownPaths();
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

  // Responses are text already; the response schemas are for the OpenAPI document only.
  app.setSerializerCompiler(() => JSON.stringify);
  useStrictValidation(app);
  acceptStrictJsonOnly(app);
  guardRequests(app as App, paths, options, listener);
  countRequests(app as App, options.metrics);
  app.setErrorHandler((error, request, reply) => sendError(options.log, error, request, reply));
  const rejections = new RejectionLog(options.log);
  app.decorate('rejections', rejections);
  app.decorate('logBrokenResponse', (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
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

function acceptStrictJsonOnly(
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

function pathError(
  { url, is404, routeOptions }: FastifyRequest,
  paths: KnownPaths,
): ServiceError | undefined {
  if (!isReadableQuery(url)) {
    return new ServiceError('invalid_request', {
      message: 'The query is not valid percent-encoded UTF-8.',
    });
  }
  return is404 || !paths.isLiteral(url, routeOptions.url) ? paths.errorFor(url) : undefined;
}

/** Fastify would take invalid percent-encoding literally, as another value than the caller meant. */
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

/** Body limits of routes that are public, signed or open to publishable keys. */
const bodyBytesMax: Readonly<Record<string, number>> = {
  public: keylessBodyBytesMax,
  signed: eventBodyBytesMax,
  'payments:create': chargeBodyBytesMax,
};

/** Operators must be able to examine an overloaded service. */
const neverShed: ReadonlySet<string | undefined> = new Set(['/livez', '/readyz', '/metrics']);

function guardRequests(app: App, paths: KnownPaths, options: AppOptions, { load }: Listener): void {
  const uploads = new Uploads();
  const { log, authorizer, crossOrigin, isHttpsOnly, isStopping } = options;
  // Fastify accepts no object that all requests would share; the hook sets it for each request.
  app.decorateRequest('caller', null as unknown as Caller);
  app.decorateRequest('address', '');
  app.addHook('onRoute', (route) => {
    if (route.config?.access === undefined) throw new Error(`${route.url} has no config.access`);
    paths.add(route);
    const bytesMax = bodyBytesMax[route.config.access];
    if (bytesMax !== undefined) route.bodyLimit = bytesMax;
  });
  app.addHook('onRequest', (request, reply, done) => {
    const route = request.routeOptions.config;
    const access = route?.access;
    request.caller = anybody;
    request.address = addressOf(request, options);
    reply.header('request-id', request.id).headers(securityHeaders(access, isHttpsOnly));
    if (isStopping()) reply.header('connection', 'close');
    crossOrigin.mark(request, reply, route);
    // Shed before any work: a charge that is shed here has no effect.
    const isVital = neverShed.has(request.routeOptions.url);
    const overload = load.shed(request.raw, reply.raw, countedAddress(request.address), isVital);
    if (overload !== undefined) {
      // Respond after this turn of the event loop: otherwise callers that retry at once delay its end and the admitted requests.
      setImmediate(() => sendError(log, overload, request, reply));
      return;
    }
    const bytesMax = access === undefined ? undefined : bodyBytesMax[access];
    const proceed = () => {
      const rejection = bytesMax === undefined ? undefined : uploads.count(request, reply, bytesMax);
      if (rejection !== undefined) {
        done(rejection);
        return;
      }
      if (!crossOrigin.respondToPreflight(request, reply, paths)) done(pathError(request, paths));
    };
    const admission = authorizer.admit(request, reply, access);
    if (admission === undefined) proceed();
    else admission.then(proceed, done);
  });
  if (!log.logsDetails) return;
  app.addHook('onResponse', (request, reply, done) => {
    if (reply.statusCode < 400) log.debug('request', requestFields(request, reply));
    done();
  });
}
