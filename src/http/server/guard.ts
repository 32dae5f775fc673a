import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { anybody, type Caller } from '../../access/permission.ts';
import { countedAddress } from '../../counted-address.ts';
import { ServiceError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { chargeBodyBytesMax, eventBodyBytesMax, keylessBodyBytesMax } from '../limits.ts';
import { type ActiveRequest, activeRequestOf } from './active-request.ts';
import type { Authorizer } from './authorize.ts';
import type { CallerAddresses } from './caller-address.ts';
import type { CrossOrigin } from './cors.ts';
import { sendError } from './error-handler.ts';
import type { Listener } from './listener.ts';
import type { App } from './operation.ts';
import type { RequestCounts } from './request-metrics.ts';
import { type GuardedRoute, noRoute, type RouteTable } from './route-table.ts';
import { securityHeaders } from './security-headers.ts';
import { Uploads } from './uploads.ts';

export interface GuardOptions {
  readonly log: Log;
  readonly authorizer: Pick<Authorizer, 'admit'>;
  readonly crossOrigin: CrossOrigin;
  /** Whether browsers reach the service by https only. */
  readonly isHttpsOnly: boolean;
  /** Finds the caller's address behind trusted proxies. */
  readonly callerAddresses: CallerAddresses;
  /** Whether the service is shutting down: responses then close their connections. */
  readonly isStopping: () => boolean;
}

/** Admits a request of one route, or rejects it, before its body is read. */
type Guard = (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => void;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Set by `guardRequests`. */
    guard?: Guard;
  }
}

/** Body limits of routes that are public, signed or open to publishable keys. */
const bodyBytesMax: Readonly<Record<string, number>> = {
  public: keylessBodyBytesMax,
  signed: eventBodyBytesMax,
  'payments:create': chargeBodyBytesMax,
};

/** Operators must be able to examine an overloaded service. */
const neverShed: ReadonlySet<string | undefined> = new Set(['/livez', '/readyz', '/metrics']);

interface GuardContext extends GuardOptions {
  readonly load: Listener['load'];
  readonly paths: RouteTable;
  readonly counts: RequestCounts;
  readonly uploads: Uploads;
}

/**
 * Puts one guard in front of every route, and of the paths without one. What depends on the route alone is prepared when it
 * is added: a small request costs little more than its guard.
 */
export function guardRequests(
  app: App,
  options: GuardOptions,
  { load, paths, counts }: Pick<GuardContext, 'load' | 'paths' | 'counts'>,
): void {
  const context: GuardContext = { ...options, load, paths, counts, uploads: new Uploads() };
  // Fastify accepts no object that all requests would share; the guard sets it for each request.
  app.decorateRequest('route', null as unknown as GuardedRoute);
  app.decorateRequest('caller', null as unknown as Caller);
  app.decorateRequest('address', '');
  app.decorateRequest('countedAddress', '');
  app.addHook('onRoute', (route) => {
    const access = route.config?.access;
    if (access === undefined) throw new Error(`${route.url} has no config.access`);
    paths.add(route);
    const bytesMax = bodyBytesMax[access];
    if (bytesMax !== undefined) route.bodyLimit = bytesMax;
    route.config = { ...route.config, guard: guardOf(route, context) };
  });
  const ofUnrouted = guardOf(undefined, context);
  // The first hook of all: what other hooks do, such as checking a content type, is work that a shed request must not cause.
  app.addHook('onRequest', (request, reply, done) => {
    const guard = request.is404 ? ofUnrouted : (request.routeOptions.config.guard as Guard);
    guard(request, reply, done);
  });
}

/** Sets what limits and the log need to know of a request; also for a request that no hook sees. */
export function identify(
  request: FastifyRequest,
  { connection }: ActiveRequest,
  route: GuardedRoute,
  { callerAddresses }: GuardOptions,
): void {
  const { socket, headers } = request.raw;
  const peer = socket.remoteAddress ?? '';
  const address = callerAddresses.of(peer, headers);
  request.route = route;
  request.caller = anybody;
  request.address = address;
  request.countedAddress = address === peer ? connection.address : countedAddress(address);
}

function guardOf(route: RouteOptions | undefined, context: GuardContext): Guard {
  const { log, authorizer, crossOrigin, isHttpsOnly, isStopping, load, paths, uploads } = context;
  const guarded = route === undefined ? noRoute : { url: route.url, config: route.config ?? {} };
  const { access } = guarded.config;
  const headers = securityHeaders(access, isHttpsOnly);
  const isVital = neverShed.has(guarded.url);
  const bytesMax = access === undefined ? undefined : bodyBytesMax[access];
  const countOf = context.counts.of(route);

  const checkRest = (
    request: FastifyRequest,
    reply: FastifyReply,
  ): ServiceError | 'responded' | undefined => {
    const rejection = bytesMax === undefined ? undefined : uploads.count(request, reply, bytesMax);
    if (rejection !== undefined) return rejection;
    if (crossOrigin.respondToPreflight(request, reply, paths)) return 'responded';
    return pathError(request, paths);
  };
  return (request, reply, done) => {
    const active = activeRequestOf(reply.raw);
    active.served = countOf(request.method);
    identify(request, active, guarded, context);
    reply.header('request-id', request.id).headers(headers);
    if (isStopping()) reply.header('connection', 'close');
    crossOrigin.mark(request, reply, guarded.config);
    // Shed before any work: a charge that is shed here has no effect.
    const overload = load.shed(active, request.countedAddress, isVital);
    if (overload !== undefined) {
      // Respond after this turn of the event loop: otherwise callers that retry at once delay its end and the admitted requests.
      setImmediate(() => sendError(log, overload, request, reply));
      return;
    }
    const proceed = () => {
      const rejection = checkRest(request, reply);
      if (rejection === undefined) done();
      else if (rejection !== 'responded') sendError(log, rejection, request, reply);
    };
    const admission = authorizer.admit(request, reply, access);
    if (admission === undefined) proceed();
    else if (admission instanceof Promise) admission.then(proceed, done);
    // Not passed on: through the framework, an error takes a longer way to the same function.
    else sendError(log, admission, request, reply);
  };
}

function pathError({ url, route }: FastifyRequest, paths: RouteTable): ServiceError | undefined {
  if (route === noRoute) return queryError(url) ?? paths.errorFor(url);
  // Without percent-encoding the router has compared the path as it is.
  if (!url.includes('%')) return undefined;
  return queryError(url) ?? (paths.isLiteral(url, route.url) ? undefined : paths.errorFor(url));
}

/** Fastify would take invalid percent-encoding literally, as another value than the caller meant. */
function queryError(url: string): ServiceError | undefined {
  const start = url.indexOf('?');
  if (start < 0) return undefined;
  try {
    decodeURIComponent(url.slice(start));
    return undefined;
  } catch {
    return new ServiceError('invalid_request', {
      message: 'The query is not valid percent-encoded UTF-8.',
    });
  }
}
