import type { FastifyReply } from 'fastify';

/**
 * The cookies of one deployment. Over https they have the prefix `__Host-` (RFC 6265bis, 4.1.3.2): no other host, no
 * other path and no plain http can set one. A browser takes neither it nor `Secure` over the plain http of
 * loopback, where the names go without.
 */
export class Cookies {
  readonly #prefix: string;
  readonly #attributes: string;

  /** @param origin as browsers know the service */
  constructor(origin: string) {
    const isSecure = origin.startsWith('https:');
    this.#prefix = isSecure ? '__Host-' : '';
    this.#attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
  }

  /** The value of a cookie; undefined where there is none, or more than one: which one is ours, nobody can tell. */
  read(header: string | undefined, name: string): string | undefined {
    const values = pairsOf(header).filter(([each]) => each === this.#prefix + name);
    return values.length === 1 ? values[0]?.[1] : undefined;
  }

  /** The cookies whose names start so, without prefix, sorted by name. */
  startingWith(header: string | undefined, start: string): readonly (readonly [string, string])[] {
    const named = pairsOf(header).filter(([name]) => name.startsWith(this.#prefix + start));
    return [...new Map(named)]
      .map(([name, value]) => [name.slice(this.#prefix.length), value] as const)
      .toSorted(([one], [other]) => (one < other ? -1 : 1));
  }

  /** @param value of letters, digits and what base64url has beside them */
  set(reply: FastifyReply, name: string, value: string, ageMsMax: number): void {
    this.#add(reply, `${name}=${value}; Max-Age=${Math.floor(ageMsMax / 1_000)}`);
  }

  clear(reply: FastifyReply, name: string): void {
    this.#add(reply, `${name}=; Max-Age=0`);
  }

  #add(reply: FastifyReply, cookie: string): void {
    // Fastify adds to this header where it replaces others.
    reply.header('set-cookie', `${this.#prefix}${cookie}; ${this.#attributes}`);
  }
}

function pairsOf(header: string | undefined): (readonly [string, string])[] {
  return (header ?? '').split(';').flatMap((pair) => {
    const equals = pair.indexOf('=');
    return equals < 0 ? [] : [[pair.slice(0, equals).trim(), pair.slice(equals + 1).trim()] as const];
  });
}
