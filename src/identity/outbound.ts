import { type LookupAddress, lookup } from 'node:dns';
import { request as requestPlainly } from 'node:http';
import { type RequestOptions, request as requestSecurely } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { rootCertificates } from 'node:tls';
import { isLoopback } from '../addresses.ts';
import { isLoopbackAddress, isPublicAddress, PrivateHosts } from './addresses.ts';
import { outboundMsMax, outboundResponseBytesMax } from './limits.ts';

/** The part of the standard `fetch` that the libraries of this folder use. It reads the whole response before it resolves. */
export type Fetch = (url: string, init?: FetchInit) => Promise<Response>;

interface FetchInit {
  readonly method?: string;
  readonly headers?: ConstructorParameters<typeof Headers>[0];
  readonly body?: unknown;
  readonly signal?: AbortSignal | null | undefined;
}

/** All addresses of a name. Rejects if it has none. */
type Resolve = (name: string) => Promise<readonly LookupAddress[]>;

interface OutboundOptions {
  /** Whether requests to this machine are allowed, also over http: for an issuer on the same machine. */
  readonly loopback: boolean;
  /** Hosts and networks that the operator has named: they may be private, and http is allowed. */
  readonly privateIssuers?: readonly string[] | undefined;
  /** Certificates (PEM) of a private CA, trusted in addition to the bundled ones. */
  readonly ca?: string | undefined;
  /** The system's resolver by default. */
  readonly resolve?: Resolve;
}

/** A request was not sent, or its response was rejected; `code` is the reason. */
export class OutboundError extends Error {
  readonly code: 'scheme' | 'address' | 'redirect' | 'too_large' | 'encoded' | 'timeout';

  constructor(code: OutboundError['code'], message: string) {
    super(message);
    this.name = 'OutboundError';
    this.code = code;
  }
}

/**
 * The only way to send requests to an address that a caller named (OWASP, Server-Side Request Forgery Prevention).
 *
 * - The scheme is https; http only for loopback, and for hosts and networks that the operator named.
 * - A name is resolved once. All its addresses are checked, and the connection uses one of them, so that a resolver which
 *   responds differently the next time (rebinding) has no effect.
 * - No redirect is followed and no response is compressed. A response has at most `outboundResponseBytesMax`, and a request
 *   takes at most `outboundMsMax`.
 * - Every request has a new connection: a code is exchanged once, and cannot be resent if a reused connection is dead.
 */
export function outbound(options: OutboundOptions): Fetch {
  const { loopback, privateIssuers = [], ca, resolve = resolveBySystem } = options;
  const named = new PrivateHosts(privateIssuers);
  return async (address, init = {}) => {
    const url = new URL(address);
    const literal = url.hostname.replace(/^\[|\]$/g, '');
    const local = loopback && isLoopback(url.hostname);
    const isNamed = named.hasHost(literal);
    const isAllowed = (found: string) =>
      local ? isLoopbackAddress(found) : isPublicAddress(found) || named.allows(found, isNamed);
    const mayBePlain = url.protocol === 'http:' && (local || privateIssuers.length > 0);
    if (url.protocol !== 'https:' && !mayBePlain) throw onlyHttps();
    // A connection to a literal address skips the lookup.
    if (isIP(literal) !== 0 && !isAllowed(literal)) throw forbiddenAddress();
    if (url.protocol === 'https:') return send(url, init, checkedLookup(resolve, isAllowed), ca);
    if (local) return send(url, init, checkedLookup(resolve, isAllowed), ca);
    // Over http, the address must be in a named network, or a private address of a named host.
    const isPrivate = (found: string) => named.allows(found, isNamed);
    if (isIP(literal) !== 0 && !isPrivate(literal)) throw onlyHttps();
    return send(url, init, checkedLookup(resolve, isPrivate, isNamed ? forbiddenAddress : onlyHttps), ca);
  };
}

function onlyHttps(): OutboundError {
  return new OutboundError('scheme', 'only https is allowed');
}

function send(
  url: URL,
  { method = 'GET', headers, body, signal }: FetchInit,
  pinned: LookupFunction,
  ca: string | undefined,
) {
  const deadline = AbortSignal.timeout(outboundMsMax);
  const ended = signal ? AbortSignal.any([signal, deadline]) : deadline;
  const text = body === undefined || body === null ? undefined : bodyText(body);
  const options: RequestOptions = {
    method,
    agent: false,
    lookup: pinned,
    signal: ended,
    ...(ca !== undefined && { ca: [...rootCertificates, ca] }),
    headers: {
      ...Object.fromEntries(new Headers(headers)),
      'accept-encoding': 'identity',
      ...(text !== undefined && { 'content-length': Buffer.byteLength(text) }),
    },
  };
  const request = url.protocol === 'https:' ? requestSecurely : requestPlainly;
  return new Promise<Response>((resolve, reject) => {
    const fail = (error: unknown) =>
      reject(ended.aborted ? new OutboundError('timeout', 'the response was not complete in time') : error);
    const sent = request(url, options, (response) => {
      const { statusCode: status = 0, headers } = response;
      const failure = responseFailure(status, headers['content-encoding']);
      if (failure !== undefined) {
        sent.destroy(failure);
        return;
      }
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > outboundResponseBytesMax)
          sent.destroy(new OutboundError('too_large', 'the response is too large'));
        else chunks.push(chunk);
      });
      response.on('error', fail);
      response.on('end', () => {
        const type = headers['content-type'];
        const init = { status, headers: type === undefined ? {} : { 'content-type': type } };
        resolve(new Response(status === 204 ? null : Buffer.concat(chunks), init));
      });
    });
    sent.on('error', fail);
    sent.end(text);
  });
}

function responseFailure(status: number, encoding: string | undefined): OutboundError | undefined {
  if (status >= 300 && status < 400) return new OutboundError('redirect', 'redirects are not followed');
  if (encoding !== undefined && encoding !== 'identity') {
    return new OutboundError('encoded', 'the response has an unrequested content coding');
  }
  return undefined;
}

function bodyText(body: unknown): string {
  if (typeof body === 'string' || body instanceof URLSearchParams) return String(body);
  throw new TypeError('the body must be text');
}

/** A lookup for one connection: it returns exactly the addresses that were checked. */
function checkedLookup(
  resolve: Resolve,
  isAllowed: (address: string) => boolean,
  failure: () => OutboundError = forbiddenAddress,
): LookupFunction {
  return (name, { all }, done) => {
    resolve(name).then(
      (addresses) => {
        const [first] = addresses;
        // A forbidden address among allowed ones is an attack, not a mistake.
        if (first === undefined || !addresses.every(({ address }) => isAllowed(address))) {
          done(failure(), all ? [] : '', 0);
        } else if (all) done(null, [...addresses]);
        else done(null, first.address, first.family);
      },
      (error: NodeJS.ErrnoException) => done(error, all ? [] : '', 0),
    );
  };
}

function forbiddenAddress(): OutboundError {
  return new OutboundError('address', 'this address is not allowed');
}

function resolveBySystem(name: string): Promise<readonly LookupAddress[]> {
  return new Promise((resolve, reject) => {
    lookup(name, { all: true }, (error, addresses) => (error ? reject(error) : resolve(addresses)));
  });
}
