import type { FastifyReply, FastifyRequest } from 'fastify';
import { Cookies, cookieNameAt } from '../response/cookies.ts';

/** `session`: its secret. `proof`: of a sign-in at an identity provider, until the page exchanges it for a session. */
export type ConsoleCookie = 'session' | 'proof';

const names = { session: 'counterfoil-console', proof: 'counterfoil-console-proof' } as const;

/** The cookies of the console, named for this service (`cookieNameAt`). */
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
    return cookieNameAt(this.#publicUrl ?? `http://${host}`, names[which]);
  }
}
