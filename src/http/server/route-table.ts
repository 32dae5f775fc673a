import type { FastifyContextConfig, RouteOptions } from 'fastify';
import type { Access } from '../../access/scopes.ts';
import type { ServiceError } from '../../errors.ts';
import { type Metrics, noMetrics, type RequestCount } from '../../telemetry.ts';
import { RepeatedError } from './error-response.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Its route. `routeOptions` of Fastify is another object each time. */
    route: GuardedRoute;
  }
}

/** What the guard and the error handler know of the route of a request. */
export interface GuardedRoute {
  /** The pattern of its path; undefined for a path without a route. */
  readonly url: string | undefined;
  readonly config: FastifyContextConfig;
}

/** For all requests without a route. */
export const noRoute: GuardedRoute = { url: undefined, config: {} };

interface KnownPath {
  readonly pattern: RegExp;
  readonly routes: Map<string, FastifyContextConfig>;
  methodNotAllowed: ServiceError | undefined;
}

/** Created once, as are the errors of each path: most callers without a route are attackers, who send many requests. */
const routeNotFound = new RepeatedError('route_not_found');

/** A route of an app. */
export interface ServedRoute {
  readonly method: string;
  /** Its path, with `:name` for each parameter. */
  readonly url: string;
  readonly access: Access;
}

/** Finds routes by the pattern of a path, for requests that the router did not assign to one. */
export class RouteTable {
  readonly #paths = new Map<string, KnownPath>();
  /** By the number of segments; under undefined if the path ends in any number of them (`*`). */
  readonly #bySegments = new Map<number | undefined, KnownPath[]>();

  add({ url, method, config }: RouteOptions): void {
    const path = this.#paths.get(url) ?? this.#addPath(url);
    path.methodNotAllowed = undefined;
    for (const name of [method].flat()) path.routes.set(name, config ?? {});
  }

  /** The error for a wrong method (405) or a wrong path (404). */
  errorFor(url: string): ServiceError {
    const path = this.#find(url);
    if (path === undefined) return routeNotFound;
    path.methodNotAllowed ??= methodNotAllowed(path);
    return path.methodNotAllowed;
  }

  /**
   * Whether a path contains the literal segments of a route unencoded. The router decodes `%73tage`; a proxy with a rule for
   * `/stage` does not.
   */
  isLiteral(url: string, route: string | undefined): boolean {
    const path = url.split('?', 1)[0] as string;
    if (route === undefined || !path.includes('%')) return true;
    const segments = path.split('/');
    return route
      .split('/')
      .every((literal, index) => literal.startsWith(':') || literal === '*' || literal === segments[index]);
  }

  /** The configuration of a route; undefined if the path does not support the method. */
  config(method: string, url: string): FastifyContextConfig | undefined {
    return this.#find(url)?.routes.get(method);
  }

  /** Every route, with the access that it requires. */
  all(): ServedRoute[] {
    return [...this.#paths].flatMap(([url, { routes }]) =>
      [...routes].map(([method, { access }]) => ({ method, url, access: access as Access })),
    );
  }

  #addPath(url: string): KnownPath {
    const path: KnownPath = { pattern: pathPattern(url), routes: new Map(), methodNotAllowed: undefined };
    this.#paths.set(url, path);
    const segments = url.includes('*') ? undefined : countSegments(url);
    this.#bySegments.set(segments, [...(this.#bySegments.get(segments) ?? []), path]);
    return path;
  }

  #find(url: string): KnownPath | undefined {
    const path = url.split('?', 1)[0] as string;
    const matches = ({ pattern }: KnownPath) => pattern.test(path);
    return (
      this.#bySegments.get(countSegments(path))?.find(matches) ??
      this.#bySegments.get(undefined)?.find(matches)
    );
  }
}

function countSegments(path: string): number {
  return path.split('/').length;
}

function methodNotAllowed({ routes }: KnownPath): ServiceError {
  const allow = [...routes.keys()].sort().join(', ');
  return new RepeatedError('method_not_allowed', {
    message: `Allowed methods: ${allow}.`,
    headers: { allow },
  });
}

function pathPattern(url: string): RegExp {
  return new RegExp(`^${url.replaceAll('.', '\\.').replace(/:\w+/g, '[^/]+').replace('*', '.*')}$`);
}

/**
 * Counts every request by the pattern of its route, and its error. A route gets its counters when it is added, so that a request
 * needs no look-up. A response is not counted if its reader disconnects before its end.
 */
export class RequestCounts {
  readonly #metrics: Metrics;

  constructor(metrics: Metrics = noMetrics) {
    this.#metrics = metrics;
  }

  /** @param route undefined for paths without one, whose errors `failed` counts. @returns the counter for the method of a request */
  countersFor(route: RouteOptions | undefined): (method: string) => RequestCount | undefined {
    if (route === undefined || this.#metrics === noMetrics) return () => undefined;
    const { url, method } = route;
    const counts = new Map([method].flat().map((name) => [name, this.#metrics.ofRoute(name, url)]));
    const [only] = counts.values();
    return counts.size === 1 ? () => only : (name) => counts.get(name);
  }

  /** Counts an error response. @param route the pattern of its route, if it has one */
  failed({ code, status }: ServiceError, method: string, route: string | undefined): void {
    this.#metrics.failed(code);
    if (route === undefined) this.#metrics.unrouted(method, status);
  }
}
