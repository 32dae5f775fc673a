import type { FastifyReply } from 'fastify';

/**
 * The cookies of one deployment. Over https they have the prefix `__Host-` (RFC 6265bis, 4.1.3.2): no other host, no other
 * path and no plain http can set one. Over plain http on loopback, browsers accept neither the prefix nor `Secure`, so both
 * are omitted.
 */
export class Cookies {
  readonly #prefix: string;
  readonly #attributes: string;

  /**
   * @param origin the public origin of the service
   * @param sameSite `Strict` for a cookie that no request from another site needs
   */
  constructor(origin: string, sameSite: 'Lax' | 'Strict' = 'Lax') {
    const isSecure = origin.startsWith('https:');
    this.#prefix = isSecure ? '__Host-' : '';
    this.#attributes = `Path=/; HttpOnly; SameSite=${sameSite}${isSecure ? '; Secure' : ''}`;
  }

  /** The value of a cookie; undefined if there is none, or more than one, as the right one is unknown. */
  read(header: string | undefined, name: string): string | undefined {
    const values = parsePairs(header).filter(([each]) => each === this.#prefix + name);
    return values.length === 1 ? values[0]?.[1] : undefined;
  }

  /** Whether a request has this cookie, valid or not: also more than once, or without the prefix. */
  has(header: string | undefined, name: string): boolean {
    return parsePairs(header).some(([each]) => each === name || each === this.#prefix + name);
  }

  /** Cookies with this start of the name, without the prefix, sorted by name. */
  startingWith(header: string | undefined, start: string): readonly (readonly [string, string])[] {
    const named = parsePairs(header).filter(([name]) => name.startsWith(this.#prefix + start));
    return [...new Map(named)]
      .map(([name, value]) => [name.slice(this.#prefix.length), value] as const)
      .toSorted(([one], [other]) => (one < other ? -1 : 1));
  }

  /** @param value in the alphabet of base64url */
  set(reply: FastifyReply, name: string, value: string, ageMsMax: number): void {
    this.#add(reply, `${name}=${value}; Max-Age=${Math.floor(ageMsMax / 1_000)}`);
  }

  clear(reply: FastifyReply, name: string): void {
    this.#add(reply, `${name}=; Max-Age=0`);
  }

  #add(reply: FastifyReply, cookie: string): void {
    // Fastify appends to this header; it replaces others.
    reply.header('set-cookie', `${this.#prefix}${cookie}; ${this.#attributes}`);
  }
}

/**
 * The name of a cookie for the service at a URL. Browsers share the cookies of a host among its ports: without https, as on a
 * loopback, the port is part of the name, so that a sign-in to one service does not end the session of another. Over https, a service has
 * a host of its own, and `__Host-` needs no port.
 *
 * @param url the origin of the service
 */
export function cookieNameAt(url: string, name: string): string {
  if (url.startsWith('https:')) return name;
  return `${name}-${(URL.canParse(url) && new URL(url).port) || '80'}`;
}

function parsePairs(header: string | undefined): (readonly [string, string])[] {
  return (header ?? '').split(';').flatMap((pair) => {
    const equals = pair.indexOf('=');
    return equals < 0 ? [] : [[pair.slice(0, equals).trim(), pair.slice(equals + 1).trim()] as const];
  });
}
