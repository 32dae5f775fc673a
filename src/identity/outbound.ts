import { type LookupAddress, lookup } from 'node:dns';
import { request as requestPlainly } from 'node:http';
import { type RequestOptions, request as requestSecurely } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { rootCertificates } from 'node:tls';
import { isLoopback } from '../origins.ts';
import { isLoopbackAddress, isPublicAddress, PrivateHosts } from './addresses.ts';
import { outboundMsMax, outboundResponseBytesMax } from './limits.ts';

/** The part of the web's `fetch` that the libraries of this folder use; an answer is read whole before it is given. */
export type Fetch = (url: string, init?: FetchInit) => Promise<Response>;

export interface FetchInit {
  readonly method?: string;
  readonly headers?: ConstructorParameters<typeof Headers>[0];
  readonly body?: unknown;
  readonly signal?: AbortSignal | null | undefined;
}

/** All addresses of a name. Rejects when it has none. */
export type Resolve = (name: string) => Promise<readonly LookupAddress[]>;

export interface OutboundOptions {
  /** Whether this machine itself may be asked, over http too: for an issuer that is there, where the service is too. */
  readonly loopback: boolean;
  /** Hosts and networks that the operator has named: they may be private, and may be asked over http. */
  readonly privateIssuers?: readonly string[] | undefined;
  /** Certificates (PEM) of a private CA, believed beside the system's. */
  readonly ca?: string | undefined;
  /** The system's resolver without it. */
  readonly resolve?: Resolve;
}

/** A request that is not sent, or whose answer is not taken; `code` says why. */
export class OutboundRefused extends Error {
  readonly code: 'scheme' | 'address' | 'redirect' | 'too_large' | 'encoded' | 'timeout';

  constructor(code: OutboundRefused['code'], message: string) {
    super(message);
    this.name = 'OutboundRefused';
    this.code = code;
  }
}

/**
 * The one way out of the service to what a caller named (OWASP, Server-Side Request Forgery Prevention): https alone;
 * a name is resolved once, all its addresses are checked, and the connection goes to one of those, so that a
 * resolver which answers otherwise the next time (rebinding) changes nothing. No redirect is followed, no
 * answer is compressed, none is longer than `outboundResponseBytesMax` or takes longer than `outboundMsMax` as a whole. Every request
 * has a connection of its own: a code is exchanged once, and cannot be sent again when a kept connection turns out dead.
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
    // A connection to a literal address asks no resolver.
    if (isIP(literal) !== 0 && !isAllowed(literal)) throw refusedAddress();
    if (url.protocol === 'https:') return send(url, init, checkedLookup(resolve, isAllowed), ca);
    if (local) return send(url, init, checkedLookup(resolve, isAllowed), ca);
    // Over http only what is named is asked, and it must lie where it is named.
    const isPrivate = (found: string) => named.allows(found, isNamed);
    if (isIP(literal) !== 0 && !isPrivate(literal)) throw onlyHttps();
    return send(url, init, checkedLookup(resolve, isPrivate, isNamed ? refusedAddress : onlyHttps), ca);
  };
}

function onlyHttps(): OutboundRefused {
  return new OutboundRefused('scheme', 'only https is asked');
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
    ...(ca === undefined ? {} : { ca: [...rootCertificates, ca] }),
    headers: {
      ...Object.fromEntries(new Headers(headers)),
      'accept-encoding': 'identity',
      ...(text === undefined ? {} : { 'content-length': Buffer.byteLength(text) }),
    },
  };
  const request = url.protocol === 'https:' ? requestSecurely : requestPlainly;
  return new Promise<Response>((resolve, reject) => {
    const fail = (error: unknown) =>
      reject(ended.aborted ? new OutboundRefused('timeout', 'no whole answer in time') : error);
    const sent = request(url, options, (response) => {
      const { statusCode: status = 0, headers } = response;
      const refusal = refusalOf(status, headers['content-encoding']);
      if (refusal !== undefined) {
        sent.destroy(refusal);
        return;
      }
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > outboundResponseBytesMax)
          sent.destroy(new OutboundRefused('too_large', 'answer too large'));
        else chunks.push(chunk);
      });
      response.on('error', fail);
      response.on('end', () => {
        const type = headers['content-type'];
        const told = { status, headers: type === undefined ? {} : { 'content-type': type } };
        resolve(new Response(status === 204 ? null : Buffer.concat(chunks), told));
      });
    });
    sent.on('error', fail);
    sent.end(text);
  });
}

function refusalOf(status: number, encoding: string | undefined): OutboundRefused | undefined {
  if (status >= 300 && status < 400) return new OutboundRefused('redirect', 'no redirect is followed');
  if (encoding !== undefined && encoding !== 'identity') {
    return new OutboundRefused('encoded', 'no coding was asked for');
  }
  return undefined;
}

function bodyText(body: unknown): string {
  if (typeof body === 'string' || body instanceof URLSearchParams) return String(body);
  throw new TypeError('only text is sent');
}

/** A lookup for one connection: what it hands over are the very addresses that were checked. */
function checkedLookup(
  resolve: Resolve,
  isAllowed: (address: string) => boolean,
  refusal: () => OutboundRefused = refusedAddress,
): LookupFunction {
  return (name, { all }, done) => {
    resolve(name).then(
      (addresses) => {
        const [first] = addresses;
        // One that is not allowed beside others that are is an attempt, not a mistake.
        if (first === undefined || !addresses.every(({ address }) => isAllowed(address))) {
          done(refusal(), all ? [] : '', 0);
        } else if (all) done(null, [...addresses]);
        else done(null, first.address, first.family);
      },
      (error: NodeJS.ErrnoException) => done(error, all ? [] : '', 0),
    );
  };
}

function refusedAddress(): OutboundRefused {
  return new OutboundRefused('address', 'this address is not asked');
}

function resolveBySystem(name: string): Promise<readonly LookupAddress[]> {
  return new Promise((resolve, reject) => {
    lookup(name, { all: true }, (error, addresses) => (error ? reject(error) : resolve(addresses)));
  });
}
