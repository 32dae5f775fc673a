import { timingSafeEqual } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ConsoleSessions } from '../../access/console/console-sessions.ts';
import type { KnownCaller } from '../../access/permission.ts';
import { isLoopback } from '../../addresses.ts';
import { ServiceError } from '../../errors.ts';
import { Cookies, cookieNameAt } from '../response/cookies.ts';

/** The header in which the console sends the token of its session. A page of another origin cannot send it. */
const consoleTokenHeader = 'console-token';

/**
 * The caller of a request from the console. A cookie alone authorizes nothing, because browsers add it to any request: the token
 * marks a request as one of the console.
 */
export class ConsoleCallers {
  readonly sessions: ConsoleSessions;
  readonly cookies: ConsoleCookies;
  readonly #publicUrl: string | undefined;

  /** @param publicUrl the origin of the service for browsers, if the settings name it */
  constructor(sessions: ConsoleSessions, cookies: ConsoleCookies, publicUrl: string | undefined) {
    this.sessions = sessions;
    this.cookies = cookies;
    this.#publicUrl = publicUrl;
  }

  /** Whether a request has the token of a session, valid or not. */
  isOne({ headers }: FastifyRequest): boolean {
    return headers[consoleTokenHeader] !== undefined;
  }

  /**
   * The holder of the session. Rejects with `forbidden` if the request is from a page of another origin or its token is not that
   * of the session, and with `unauthenticated` if the session has ended.
   */
  async authenticate(request: FastifyRequest): Promise<KnownCaller> {
    this.checkOwnPage(request);
    const session = await this.sessions.find(this.cookies.read(request, 'session'));
    if (session === undefined) throw noSession;
    if (!isEqual(String(request.headers[consoleTokenHeader]), session.token)) throw wrongToken;
    return session.caller;
  }

  /** Records a request that may change something in the audit trail, by its path, which contains no secret. */
  async noteRequest(request: FastifyRequest, caller: KnownCaller): Promise<void> {
    if (isSafe(request.method)) return;
    const on = `${request.method} ${request.url.split('?', 1)[0]}`;
    await this.sessions.noteRequest(caller, on, request.id);
  }

  /**
   * Throws `forbidden` if a request is not from a page of this service: browsers name the origin of each request that can
   * change something, and mark where it comes from (W3C Fetch Metadata).
   */
  checkOwnPage({ method, headers }: FastifyRequest): void {
    const { origin, host, 'sec-fetch-site': site } = headers;
    const own = this.#publicUrl ?? `http://${host}`;
    if (origin === undefined ? !isSafe(method) : origin !== own) throw this.#foreign('Origin');
    if (site !== undefined && site !== 'same-origin') throw this.#foreign('Sec-Fetch-Site');
  }

  /** Throws `forbidden` if the network between the browser and the service could read the key or the session. */
  checkTransport({ headers }: FastifyRequest): void {
    if (this.#publicUrl?.startsWith('https:')) return;
    const url = this.#publicUrl ?? `http://${headers.host ?? ''}`;
    if (URL.canParse(url) && isLoopback(new URL(url).hostname)) return;
    throw new ServiceError('forbidden', {
      message:
        'People sign in to the console only over https, or on the machine of the service. Set COUNTERFOIL_PUBLIC_URL to ' +
        'the https address of the service.',
    });
  }

  #foreign(param: string): ServiceError {
    const where = this.#publicUrl === undefined ? '' : ` Open it at ${this.#publicUrl}/console.`;
    return new ServiceError('forbidden', {
      param,
      message: `Only the console's own page may send this request.${where}`,
    });
  }
}

/** Whether a method changes nothing (RFC 9110, 9.2.1). */
function isSafe(method: string): boolean {
  return method === 'GET' || method === 'HEAD';
}

/** Takes a time that does not depend on the text. */
function isEqual(text: string, token: string): boolean {
  const [one, other] = [Buffer.from(text), Buffer.from(token)];
  return one.length === other.length && timingSafeEqual(one, other);
}

const noSession = new ServiceError('unauthenticated', {
  message: 'The session of the console has ended. Sign in again.',
});

const wrongToken = new ServiceError('forbidden', {
  param: 'Console-Token',
  message: 'The Console-Token is not that of this session. Load the console again.',
});

/** `session`: its secret. `proof`: of a sign-in at an identity provider, until the page exchanges it for a session. */
type ConsoleCookie = 'session' | 'proof';

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
    return this.#cookies.read(request.headers.cookie, this.#cookieName(request, which));
  }

  set(reply: FastifyReply, which: ConsoleCookie, value: string, ageMsMax: number): void {
    this.#cookies.set(reply, this.#cookieName(reply.request, which), value, ageMsMax);
  }

  clear(reply: FastifyReply, which: ConsoleCookie): void {
    this.#cookies.clear(reply, this.#cookieName(reply.request, which));
  }

  #cookieName({ headers: { host } }: FastifyRequest, which: ConsoleCookie): string {
    return cookieNameAt(this.#publicUrl ?? `http://${host}`, names[which]);
  }
}
