import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { anybody, type Caller } from '../../access/permission.ts';
import type { Access } from '../../access/scopes.ts';
import { countedAddress } from '../../addresses.ts';
import { invalidRequest, ServiceError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { whenClosed } from '../response/send.ts';
import { type ActiveRequest, activeRequest } from './active-request.ts';
import type { Authorizer } from './authorize.ts';
import { AddressCounts, type CallerAddresses } from './caller-address.ts';
import type { CrossOrigin } from './cors.ts';
import { sendError } from './error-handler.ts';
import type { Listener } from './listener.ts';
import type { App } from './operation.ts';
import { type GuardedRoute, noRoute, type RequestCounts, type RouteTable } from './route-table.ts';
import { securityHeaders } from './security-headers.ts';

/** Body of a route that needs no key: sign-out and the token endpoint accept some hundred bytes. */
const keylessBodyBytesMax = 16 * 1024;
/** Body of a signed event: the events of processors have less than 64 KiB. */
export const eventBodyBytesMax = 256 * 1024;
/** A charge with 50 metadata entries has a tenth of it. */
const chargeBodyBytesMax = 256 * 1024;
/** Unfinished bodies of more than `keylessBodyBytesMax` on routes that need no secret key: of all callers, and of one address. */
const uploadBytesMax = 64 * 1024 * 1024;
export const uploadBytesPerAddressMax = 8 * 1024 * 1024;

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

type Done = (error?: Error) => void;
/** Admits a request of one route, or rejects it, before its body is read. */
type Guard = (request: FastifyRequest, reply: FastifyReply, done: Done) => void;

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

type RouteCounters = ReturnType<RequestCounts['countersFor']>;

interface GuardContext extends GuardOptions {
  readonly load: Listener['load'];
  readonly paths: RouteTable;
  readonly counts: RequestCounts;
  readonly uploads: Uploads;
}

/**
 * Puts a guard in front of every route, and in front of the paths without one. Whatever depends only on the route is prepared
 * when the route is added: a small request costs little more than its guard.
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
    route.config = { ...route.config, guard: createGuard(admissionSteps(route, context), options.log) };
  });
  const unrouted = createGuard(admissionSteps(undefined, context), options.log);
  // The first hook of all: a shed request must not cause the work of other hooks, such as checking a content type.
  app.addHook('onRequest', (request, reply, done) => {
    const guard = request.is404 ? unrouted : (request.routeOptions.config.guard as Guard);
    guard(request, reply, done);
  });
}

/** Sets the fields of a request that the limits and the log read. An error of the framework needs it too: no hook has run. */
export function identify(
  request: FastifyRequest,
  { connection }: ActiveRequest,
  route: GuardedRoute,
  { callerAddresses }: GuardOptions,
): void {
  const { socket, headers } = request.raw;
  const peer = socket.remoteAddress ?? '';
  const address = callerAddresses.find(peer, headers);
  request.route = route;
  request.caller = anybody;
  request.address = address;
  request.countedAddress = address === peer ? connection.address : countedAddress(address);
}

/** Undefined: the next step follows. An error rejects the request. `responded`: the step has responded, or will. */
type Outcome = undefined | ServiceError | 'responded' | Promise<void>;
type Step = (request: FastifyRequest, reply: FastifyReply) => Outcome;

/** The steps of admitting a request of one route, in their order. A step that no request of the route needs is left out. */
function admissionSteps(route: RouteOptions | undefined, context: GuardContext): readonly Step[] {
  const { crossOrigin, paths, uploads } = context;
  const guarded = route === undefined ? noRoute : { url: route.url, config: route.config ?? {} };
  const { access } = guarded.config;
  const bytesMax = access === undefined ? undefined : bodyBytesMax[access];
  const steps: readonly (Step | false)[] = [
    noteRequest(guarded, context.counts.countersFor(route), context),
    setHeaders(access, context),
    crossOrigin.concerns(guarded.config) &&
      ((request, reply) => crossOrigin.mark(request, reply, guarded.config)),
    // Before any work: a charge that is shed has no effect.
    shed(neverShed.has(guarded.url), context),
    (request, reply) => context.authorizer.admit(request, reply, access),
    bytesMax !== undefined && ((request, reply) => uploads.count(request, reply, bytesMax)),
    route === undefined &&
      ((request, reply) => (crossOrigin.respondToPreflight(request, reply, paths) ? 'responded' : undefined)),
    route === undefined
      ? ({ url }) => queryError(url) ?? paths.errorFor(url)
      : ({ url }) => encodingError(url, route.url, paths),
  ];
  return steps.filter((step) => step !== false);
}

function createGuard(steps: readonly Step[], log: Log): Guard {
  const run = (from: number, request: FastifyRequest, reply: FastifyReply, done: Done): void => {
    for (let next = from; next < steps.length; next++) {
      const outcome = (steps[next] as Step)(request, reply);
      if (outcome === undefined) continue;
      if (outcome instanceof Promise) resume(outcome, next + 1, request, reply, done);
      // Not passed on: through the framework, an error takes a longer way to the same function.
      else if (outcome !== 'responded') sendError(log, outcome, request, reply);
      return;
    }
    done();
  };
  /** Not within `run`: there, the closure would cost every request an allocation. */
  const resume = (
    step: Promise<void>,
    from: number,
    request: FastifyRequest,
    reply: FastifyReply,
    done: Done,
  ): void => {
    step.then(() => run(from, request, reply, done), done);
  };
  return (request, reply, done) => run(0, request, reply, done);
}

function noteRequest(route: GuardedRoute, countOf: RouteCounters, options: GuardOptions): Step {
  return (request, reply) => {
    const active = activeRequest(reply.raw);
    active.served = countOf(request.method);
    identify(request, active, route, options);
    return undefined;
  };
}

function setHeaders(access: Access | undefined, { isHttpsOnly, isStopping }: GuardOptions): Step {
  const headers = securityHeaders(access, isHttpsOnly);
  return (request, reply) => {
    reply.header('request-id', request.id).headers(headers);
    if (isStopping()) reply.header('connection', 'close');
    return undefined;
  };
}

function shed(isVital: boolean, { load, log }: GuardContext): Step {
  return (request, reply) => {
    const overload = load.shed(activeRequest(reply.raw), request.countedAddress, isVital);
    if (overload === undefined) return undefined;
    // Respond after this turn of the event loop: otherwise callers that retry at once delay its end and the admitted requests.
    setImmediate(() => sendError(log, overload, request, reply));
    return 'responded';
  };
}

/** The router compares the decoded path; a proxy may have compared the encoded one. */
function encodingError(url: string, route: string, paths: RouteTable): ServiceError | undefined {
  if (!url.includes('%')) return undefined;
  return queryError(url) ?? (paths.isLiteral(url, route) ? undefined : paths.errorFor(url));
}

/** Fastify would take invalid percent-encoding literally, as another value than the caller meant. */
function queryError(url: string): ServiceError | undefined {
  const start = url.indexOf('?');
  if (start < 0) return undefined;
  try {
    decodeURIComponent(url.slice(start));
    return undefined;
  } catch {
    return invalidRequest(undefined, 'The query is not valid percent-encoded UTF-8.');
  }
}

/**
 * Limits the memory of request bodies on routes that need no secret key. A body counts with its declared length, or with the
 * maximum of its route, until the response is closed: a slow body is in memory all that time. Small bodies are not counted:
 * the limit on running requests covers them.
 */
class Uploads {
  #bytes = 0;
  readonly #ofAddress = new AddressCounts();

  /** Counts a body, if there is room for it. @param bytesMax of the route. @returns `overloaded` if there is none */
  count(request: FastifyRequest, reply: FastifyReply, bytesMax: number): ServiceError | undefined {
    const bytes = expectedBytes(request, bytesMax);
    if (bytes <= keylessBodyBytesMax) return undefined;
    const address = request.countedAddress;
    const isTooMuchOfAddress = this.#ofAddress.get(address) + bytes > uploadBytesPerAddressMax;
    if (isTooMuchOfAddress || this.#bytes + bytes > uploadBytesMax) return tooMuch;
    this.#bytes += bytes;
    this.#ofAddress.add(address, bytes);
    whenClosed(reply.raw, () => {
      this.#bytes -= bytes;
      this.#ofAddress.remove(address, bytes);
    });
    return undefined;
  }
}

/** A body without a declared length may have the maximum of its route, which rejects longer bodies. */
function expectedBytes({ headers }: FastifyRequest, bytesMax: number): number {
  if (headers['transfer-encoding'] !== undefined) return bytesMax;
  return Math.min(Number(headers['content-length'] ?? 0), bytesMax);
}

const tooMuch = new ServiceError('overloaded', {
  retryAfterSeconds: 1,
  detail: 'request bodies in memory',
  headers: { connection: 'close' },
});
