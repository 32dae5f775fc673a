import type { FastifyContextConfig, RouteOptions } from 'fastify';
import type { Access } from '../../access/scopes.ts';
import type { FieldsBesideError } from '../../envelope.ts';
import { ServiceError } from '../../errors.ts';

interface KnownPath {
  readonly pattern: RegExp;
  readonly routes: Map<string, FastifyContextConfig>;
}

/** A route of a door. */
export interface ServedRoute {
  readonly method: string;
  /** Its path, with `:name` for a parameter. */
  readonly url: string;
  readonly access: Access;
}

/** Knows the routes by the shape of a path, for requests that the router did not bring to one. */
export class KnownPaths {
  readonly #paths = new Map<string, KnownPath>();

  add({ url, method, config }: RouteOptions): void {
    const path = this.#paths.get(url) ?? { pattern: shapeOf(url), routes: new Map() };
    this.#paths.set(url, path);
    for (const name of [method].flat()) path.routes.set(name, config ?? {});
  }

  /** A wrong method (405) or a wrong path (404). */
  refusal(url: string): ServiceError {
    const path = this.#find(url);
    if (path === undefined) return new ServiceError('route_not_found');
    const allow = [...path.routes.keys()].sort().join(', ');
    return new ServiceError('method_not_allowed', {
      message: `This path takes ${allow} alone.`,
      headers: { allow },
    });
  }

  /**
   * Whether the literal segments of a route stand in a path as they are. The router decodes `%73tage`; a proxy in front that
   * has a rule for `/stage` does not.
   */
  isLiteral(url: string, route: string | undefined): boolean {
    const path = url.split('?', 1)[0] as string;
    if (route === undefined || !path.includes('%')) return true;
    const segments = path.split('/');
    return route
      .split('/')
      .every((literal, index) => literal.startsWith(':') || literal === '*' || literal === segments[index]);
  }

  /** The documented fields of the operation that a request meant, though its path could not be read. */
  besideError(method: string, url: string): FieldsBesideError | undefined {
    return this.#find(url)?.routes.get(method)?.besideError;
  }

  /** What a request with this method would need; undefined where the path does not take it. */
  access(method: string, url: string): Access | undefined {
    return this.#find(url)?.routes.get(method)?.access;
  }

  /** Every route, and what a request on it needs. */
  all(): ServedRoute[] {
    return [...this.#paths].flatMap(([url, { routes }]) =>
      [...routes].map(([method, { access }]) => ({ method, url, access: access as Access })),
    );
  }

  #find(url: string): KnownPath | undefined {
    const path = url.split('?', 1)[0] as string;
    return [...this.#paths.values()].find(({ pattern }) => pattern.test(path));
  }
}

function shapeOf(url: string): RegExp {
  return new RegExp(`^${url.replaceAll('.', '\\.').replace(/:\w+/g, '[^/]+').replace('*', '.*')}$`);
}
