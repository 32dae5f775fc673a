import type { FastifyReply, FastifyRequest } from 'fastify';
import { Cookies } from '../response/cookies.ts';

/** `session`: its secret. `proof`: of a sign-in at an identity provider, until the page exchanges it for a session. */
export type ConsoleCookie = 'session' | 'proof';

const names = { session: 'counterfoil-console', proof: 'counterfoil-console-proof' } as const;

/**
 * The cookies of the console. Browsers share the cookies of a host among its ports: on a loopback without https the port is part of
 * the name, so that a sign-in to one service is no sign-out of another one. Over https, `__Host-` needs the plain name and a
 * service has a host of its own.
 */
export class ConsoleCookies {
  readonly #publicUrl: string | undefined;
  readonly #cookies: Cookies;

  /** @param publicUrl the origin of the service for browsers, if the settings name it */
  constructor(publicUrl: string | undefined) {
    this.#publicUrl = publicUrl;
    this.#cookies = new Cookies(publicUrl ?? '', 'Strict');
  }

  read(request: FastifyRequest, which: ConsoleCookie): string | undefined {
    return this.#cookies.read(request.headers.cookie, this.#nameOf(request, which));
  }

  set(reply: FastifyReply, which: ConsoleCookie, value: string, ageMsMax: number): void {
    this.#cookies.set(reply, this.#nameOf(reply.request, which), value, ageMsMax);
  }

  clear(reply: FastifyReply, which: ConsoleCookie): void {
    this.#cookies.clear(reply, this.#nameOf(reply.request, which));
  }

  #nameOf({ headers: { host } }: FastifyRequest, which: ConsoleCookie): string {
    const url = this.#publicUrl ?? `http://${host}`;
    if (url.startsWith('https:')) return names[which];
    const port = (URL.canParse(url) && new URL(url).port) || '80';
    return `${names[which]}-${port}`;
  }
}
