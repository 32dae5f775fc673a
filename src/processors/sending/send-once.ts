import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import type { Unknown } from '../processor.ts';
import type { Throttle } from './throttle.ts';

interface OutgoingRequest {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string | number>>;
  readonly body?: string | Buffer | undefined;
  /** Covers the whole exchange: the wait for its turn, connecting, sending, and the last byte of the reply. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** Size limit of one reply. A page of 100 payments with all their fields is under 1 MiB. */
const replyBytesMax = 16 * 1024 * 1024;
/** Shorter than the idle time-out of common load balancers (60 s at AWS, 75 s at nginx); long enough for a busy shop. */
const idleConnectionMs = 10_000;

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** No byte of the request was sent, because connecting or the TLS handshake failed. So nothing can have been done. */
export class NotSentError extends Error {
  /** The system's error code, for instance `ECONNREFUSED`. */
  readonly reason: string;

  constructor(reason: string) {
    super(`the request was not sent: ${reason}`);
    this.name = 'NotSentError';
    this.reason = reason;
  }
}

/** The request may have arrived, but no complete reply came back. Its outcome is unknown. */
export class ReplyLostError extends Error {
  readonly reason: string;

  constructor(reason: string) {
    super(`the reply was lost: ${reason}`);
    this.name = 'ReplyLostError';
    this.reason = reason;
  }
}

/**
 * The agent closes an idle connection before a load balancer does: a request on a closing connection is lost, with an
 * unknown outcome.
 */
const agentOptions = { keepAlive: true, timeout: idleConnectionMs };
const agents = { 'http:': new HttpAgent(agentOptions), 'https:': new HttpsAgent(agentOptions) };

/**
 * Sends a request over HTTP/1.1 exactly once. It never resends after a connection error: only the charge state machine
 * decides whether to repeat a request to a payment processor.
 *
 * Rejects with NotSentError when no byte was sent, and with ReplyLostError otherwise. Neither has a `code`, because a
 * vendor's library might resend after a code that it recognizes.
 */
export async function sendOnce(outgoing: OutgoingRequest, throttle?: Throttle): Promise<Reply> {
  const deadline = performance.now() + outgoing.timeoutMs;
  if (outgoing.signal?.aborted) throw new NotSentError('aborted');
  if (throttle !== undefined && !(await throttle.turn(outgoing.timeoutMs)))
    throw new NotSentError('no turn in time');
  try {
    const reply = await exchange(outgoing, Math.max(1, deadline - performance.now()));
    throttle?.report(reply.status < 500 && reply.status !== 429);
    return reply;
  } catch (error) {
    throttle?.report(false);
    throw error;
  }
}

function exchange(
  { url, method, headers, body, signal }: OutgoingRequest,
  timeoutMs: number,
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const isSecure = url.protocol === 'https:';
    const agent = agents[isSecure ? 'https:' : 'http:'];
    const request = (isSecure ? httpsRequest : httpRequest)(url, { method, headers, agent });
    const connection = watchConnection(request, isSecure ? 'secureConnect' : 'connect');
    const abort = () => request.destroy(new Error('aborted'));
    const timeout = setTimeout(() => request.destroy(new Error('timed out')), timeoutMs);
    const fail = (reason: string) => {
      clean();
      reject(connection.isMade() ? new ReplyLostError(reason) : new NotSentError(reason));
    };
    const clean = () => {
      clearTimeout(timeout);
      signal?.removeEventListener('abort', abort);
    };
    signal?.addEventListener('abort', abort);
    if (signal?.aborted) abort();
    request.on('error', (error) => fail(failureReason(error)));
    request.on('response', (response) => {
      readText(response).then(
        (text) => {
          clean();
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
        },
        (error: Error) => {
          request.destroy();
          fail(failureReason(error));
        },
      );
    });
    request.end(body);
  });
}

/** No byte is sent before the connection is made; after that, any byte may have arrived. */
function watchConnection(request: ClientRequest, event: 'connect' | 'secureConnect') {
  let isMade = false;
  request.on('socket', (socket: Socket) => {
    if (request.reusedSocket) isMade = true;
    else
      socket.once(event, () => {
        isMade = true;
      });
  });
  return { isMade: () => isMade };
}

async function readText(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response) {
    bytes += chunk.length;
    if (bytes > replyBytesMax) throw new Error('too large');
    chunks.push(chunk);
  }
  if (!response.complete) throw new Error('cut');
  return Buffer.concat(chunks).toString();
}

/** Prefers the system's error code: a message may repeat what was sent. */
function failureReason(error: Error & { readonly code?: unknown }): string {
  if (typeof error.code === 'string') return error.code;
  return ['aborted', 'timed out', 'too large', 'cut'].find((known) => known === error.message) ?? error.name;
}

/**
 * Counts the sends of each request under way, by idempotency key. An adapter's HTTP client counts every send here, so
 * that a resend by a vendor's library cannot go unnoticed.
 */
export class Sends {
  readonly #calls = new Map<string, Call>();

  /** The HTTP client calls this just before each send, with any key. */
  count(idempotencyKey: string): void {
    const call = this.#calls.get(idempotencyKey);
    if (call !== undefined) call.sends++;
  }

  /**
   * Makes one call and returns its outcome. A rejection counts only if there was a single send: after a resend, the
   * rejection may belong to the second request while the first was carried out.
   */
  async only<Outcome extends { readonly kind: string; readonly detail?: string }>(
    idempotencyKey: string,
    call: () => Promise<Outcome>,
  ): Promise<Outcome | Unknown> {
    const counted = this.#calls.get(idempotencyKey) ?? { sends: 0, users: 0 };
    this.#calls.set(idempotencyKey, counted);
    counted.users++;
    try {
      const outcome = await call();
      if (counted.sends <= 1 || !isRejection(outcome)) return outcome;
      return { kind: 'unknown', detail: `rejected after ${counted.sends} sends: ${errorDetail(outcome)}` };
    } finally {
      if (--counted.users === 0) this.#calls.delete(idempotencyKey);
    }
  }
}

/** The sends of one key while a call with it is under way. */
interface Call {
  sends: number;
  users: number;
}

function isRejection({ kind }: { readonly kind: string }): boolean {
  return kind === 'not_attempted' || kind === 'rejected' || kind === 'declined';
}

function errorDetail(outcome: { readonly kind: string; readonly detail?: string }): string {
  return outcome.detail ?? outcome.kind;
}
