import { CounterfoilError, clientError, type ErrorBody, invalid } from './error.ts';
import { late, withinTime } from './time.ts';

export interface SentRequest {
  readonly method: string;
  readonly url: string;
}

export interface ReceivedResponse extends SentRequest {
  /** The HTTP status, or 0 without a response. */
  readonly status: number;
  readonly requestId: string | undefined;
  /** The time until the headers of the response, in milliseconds. */
  readonly durationMs: number;
  readonly error: CounterfoilError | undefined;
}

export interface CounterfoilOptions {
  /** The address of the service: `https://api.shop.example`. */
  readonly url: string | URL;
  /** The address for payments, if it is a different one. */
  readonly paymentUrl?: string | URL;
  /** An API key. */
  readonly key?: string;
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /** Called before each request. What a hook throws is ignored. */
  readonly onRequest?: (request: SentRequest) => void;
  /** Called after each request. What a hook throws is ignored. */
  readonly onResponse?: (response: ReceivedResponse) => void;
}

export interface Call {
  readonly method: string;
  /** Encoded, from the first slash after the address. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number;
}

export interface Answer<Body> {
  readonly body: Body;
  readonly next: string | undefined;
  readonly headers: Headers;
}

/** Longer than the service waits for a processor or for another request with the same idempotency key. */
export const requestMsMax = 45_000;
const notConnected = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|UND_ERR_CONNECT_TIMEOUT|ConnectionRefused)$/;

/** Sends single requests, and turns everything but a success into a `CounterfoilError`. */
export class Http {
  readonly url: string;
  readonly paymentUrl: string;
  readonly #options: CounterfoilOptions;

  constructor(options: CounterfoilOptions) {
    this.url = addressOf(options.url);
    this.paymentUrl = addressOf(options.paymentUrl ?? options.url);
    this.#options = options;
  }

  /** Reads the whole response. */
  send<Body>(call: Call): Promise<Answer<Body>> {
    return withinTime(call.signal, call.timeoutMs ?? requestMsMax, (signal) =>
      this.#read<Body>(call, signal),
    );
  }

  /** Returns as soon as a successful response has begun. The timeout does not apply to its body. */
  open(call: Call): Promise<Response> {
    const ended = new AbortController();
    const signals = [ended.signal, ...(call.signal === undefined ? [] : [call.signal])];
    return withinTime(call.signal, requestMsMax, (signal) => {
      signal.addEventListener('abort', () => ended.abort(signal.reason));
      return this.#fetch(call, AbortSignal.any(signals));
    });
  }

  async #read<Body>(call: Call, signal: AbortSignal): Promise<Answer<Body>> {
    const response = await this.#fetch(call, signal);
    let text: string;
    try {
      text = await response.text();
    } catch (error) {
      throw transportError(error);
    }
    const { body, next } = envelopeOf(text, response.status);
    return { body: body as Body, next: next as string | undefined, headers: response.headers };
  }

  async #fetch(call: Call, signal: AbortSignal): Promise<Response> {
    const { fetch = globalFetch, onRequest, onResponse } = this.#options;
    const url = this.#urlOf(call);
    // A request that cannot be sent throws here, so that it does not look like an error of the connection.
    const init = this.#initOf(call, signal);
    if (onRequest !== undefined) hook(onRequest, { method: call.method, url });
    const began = onResponse && performance.now();
    let response: Response | undefined;
    let error: CounterfoilError | undefined;
    try {
      response = await fetch(url, init);
      if (response.status !== 200) throw await errorOf(response);
      return response;
    } catch (thrown) {
      error = transportError(thrown, signal);
      throw error;
    } finally {
      if (began !== undefined) {
        const requestId = response?.headers.get('request-id') ?? undefined;
        const durationMs = performance.now() - began;
        const status = response?.status ?? 0;
        hook(onResponse, { method: call.method, url, status, requestId, durationMs, error });
      }
    }
  }

  #initOf({ method, headers, body }: Call, signal: AbortSignal): RequestInit {
    // Following a redirect could repeat a payment elsewhere, or turn it into a read.
    const init: RequestInit = { method, signal, redirect: 'manual' };
    const { key } = this.#options;
    // Most reads need no headers, and making an empty object for them is a measurable part of a small read
    // (bench/cases/client.ts).
    if (key === undefined && headers === undefined && body === undefined) return init;
    const sent = new Headers();
    if (key !== undefined) sent.set('authorization', `Bearer ${key}`);
    for (const [name, value] of Object.entries(headers ?? {})) if (value !== undefined) sent.set(name, value);
    if (body instanceof URLSearchParams) init.body = body;
    else if (body !== undefined) {
      sent.set('content-type', 'application/json');
      init.body = JSON.stringify(body);
    }
    init.headers = sent;
    return init;
  }

  #urlOf({ path, query }: Call): string {
    const url = (path.startsWith('/stage/') ? this.paymentUrl : this.url) + path;
    if (query === undefined) return url;
    const parameters = new URLSearchParams();
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) parameters.set(name, `${value}`);
    return `${url}?${parameters}`;
  }
}

/** The global `fetch` at the time of the call, because a test or a tracer may replace it. */
function globalFetch(url: string, init: RequestInit): Promise<Response> {
  return globalThis.fetch(url, init);
}

/** `/v3/table/a%20b` */
export function path(prefix: string, ...segments: readonly string[]): string {
  // A URL parser would drop these segments, and the request would go to another path.
  const dropped = segments.find((segment) => /^\.{0,2}$/.test(segment));
  if (dropped !== undefined) throw invalid('path', `"${dropped}" cannot be part of a path.`);
  return [prefix, ...segments.map(encodeURIComponent)].join('/');
}

/** An error of the connection, while a response is awaited or read. */
export function transportError(thrown: unknown, signal?: AbortSignal): CounterfoilError {
  if (thrown instanceof CounterfoilError) return thrown;
  if (signal?.aborted) return clientError(signal.reason === late ? 'timeout' : 'aborted', signal.reason);
  const { code, cause } = (thrown ?? {}) as { code?: string; cause?: { code?: string } };
  return clientError(
    notConnected.test(cause?.code ?? code ?? '') ? 'connection_failed' : 'network_error',
    thrown,
  );
}

function envelopeOf(text: string, status: number): Record<string, unknown> {
  const envelope = parsed(text);
  if (envelope?.statusCode === status && 'body' in envelope) return envelope;
  throw clientError('invalid_response');
}

async function errorOf(response: Response): Promise<CounterfoilError> {
  const { body } = envelopeOf(await response.text(), response.status);
  const error = (body as { error?: ErrorBody } | null)?.error;
  if (typeof error?.code !== 'string') return clientError('invalid_response');
  return new CounterfoilError(error, response);
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function hook<Value>(call: ((value: Value) => void) | undefined, value: Value): void {
  try {
    call?.(value);
  } catch {
    // A hook only observes. It must not change the outcome of a payment.
  }
}

function addressOf(url: string | URL): string {
  return new URL(url).href.replace(/\/+$/, '');
}
