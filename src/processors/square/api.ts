import { defined } from '../../defined.ts';
import type { Mode } from '../processor.ts';
import type { Sends } from '../sending/send-once.ts';
import { type Reply, sendOnce } from '../sending/send-once.ts';
import type { Throttle } from '../sending/throttle.ts';

export type Json = Readonly<Record<string, unknown>>;

/** The version that this adapter is written for and tested with. Upgrade it in a separate change. */
const apiVersion = '2026-09-16';

/** The status and the list of errors of a reply from Square that is not a success. */
export class SquareError extends Error {
  readonly status: number;
  readonly errors: readonly Json[];

  constructor(status: number, errors: readonly Json[]) {
    super(`Square returned ${status}`);
    this.name = 'SquareError';
    this.status = status;
    this.errors = errors;
  }
}

/** The client, settings and counters that every call to Square needs. */
export interface SquareAccount {
  readonly api: SquareApi;
  readonly sends: Sends;
  /** Undefined for the main location, Square's default. */
  readonly locationId: string | undefined;
  /** How long a new payment may be missing from Square's lists. */
  readonly listLagMs: number;
  /** Undefined if the address of the API does not show it. */
  readonly mode: Mode | undefined;
}

/** The location parameter of a list query. */
export function locationQuery({ locationId }: SquareAccount): { readonly location_id?: string } {
  return defined({ location_id: locationId });
}

/**
 * Square uses the smallest unit of ISO 4217 for every currency that it accepts: AUD, CAD, EUR, GBP and USD in
 * hundredths, JPY in whole yen
 * (https://developer.squareup.com/docs/build-basics/working-with-monetary-amounts).
 */
export function squareMoney(amount: number, currency: string): Json {
  return { amount, currency };
}

interface CallOptions {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  readonly isRecovery?: boolean | undefined;
}

interface ApiOptions {
  readonly accessToken: string;
  /** Origin of the API. */
  readonly apiBase: string;
  readonly sends: Sends;
  readonly recoveryThrottle: Throttle;
}

/**
 * Square's REST API (https://developer.squareup.com/reference/square). This service needs nine of its calls; Square's
 * SDK adds 70 packages and takes a second to load. Every request is sent once.
 *
 * Rejects with SquareError if the reply is not a success, and as `sendOnce` does.
 */
export class SquareApi {
  readonly #options: ApiOptions;

  constructor(options: ApiOptions) {
    this.#options = options;
  }

  get(path: string, query: Readonly<Record<string, string>>, options: CallOptions): Promise<Json> {
    const search = new URLSearchParams(query).toString();
    return this.#call('GET', search === '' ? path : `${path}?${search}`, undefined, options);
  }

  post(path: string, body: Json, options: CallOptions): Promise<Json> {
    if (typeof body.idempotency_key === 'string') this.#options.sends.count(body.idempotency_key);
    return this.#call('POST', path, JSON.stringify(body), options);
  }

  /** All items of a list, page by page; `timeoutMs` is for each page. */
  async *list(
    path: string,
    name: string,
    query: Readonly<Record<string, string>>,
    options: CallOptions,
  ): AsyncGenerator<Json> {
    for (let cursor: string | undefined; ; ) {
      const page = await this.get(path, cursor === undefined ? query : { ...query, cursor }, options);
      yield* asObjects(page[name]);
      cursor = asText(page.cursor);
      if (cursor === undefined) return;
    }
  }

  async #call(method: string, path: string, body: string | undefined, options: CallOptions): Promise<Json> {
    const { accessToken, apiBase, recoveryThrottle } = this.#options;
    const headers = {
      authorization: `Bearer ${accessToken}`,
      'square-version': apiVersion,
      accept: 'application/json',
      ...(body === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
    };
    const { timeoutMs, signal, isRecovery } = options;
    const url = new URL(apiBase + path);
    const throttle = isRecovery ? recoveryThrottle : undefined;
    return read(await sendOnce({ url, method, headers, body, timeoutMs, signal }, throttle));
  }
}

function read({ status, text }: Reply): Json {
  const json = asObject(parsed(text, status));
  if (status >= 200 && status < 300) return json;
  throw new SquareError(status, asObjects(json.errors));
}

/** A success with an unreadable body proves nothing. For a failure the status is enough. */
function parsed(text: string, status: number): unknown {
  try {
    return JSON.parse(text);
  } catch {
    if (status >= 200 && status < 300) throw new Error('the reply is not JSON');
    return {};
  }
}

export function asObject(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

export function asObjects(value: unknown): Json[] {
  return Array.isArray(value) ? value.map(asObject) : [];
}

export function asText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
