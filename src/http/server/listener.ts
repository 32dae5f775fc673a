import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { countedAddress } from '../../access/counted-address.ts';
import { failure, jsonContentType } from '../../envelope.ts';
import { ServiceError } from '../../errors.ts';
import { stopGraceMs } from '../../lifecycle.ts';
import {
  connectionsCheckMs,
  headersArrivalMsMax,
  keepAliveMs,
  requestArrivalMsMax,
  requestHeaderBytesMax,
} from '../limits.ts';
import { ConnectionTurns } from './connection-turns.ts';
import { type LoadBounds, LoadShedder } from './load-shedding.ts';
import { newRequestId } from './request-id.ts';
import { errorHeaders } from './security-headers.ts';
import { SlowConnections } from './slow-connections.ts';
import { respondStarting } from './starting.ts';

const idleSweepMs = 50;

export interface ListenerOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Whether other processes may listen on the port too. */
  readonly reusePort?: boolean | undefined;
  readonly bounds?: LoadBounds | undefined;
  /** How long a response may make no progress; the limit of the same name without it. */
  readonly responseStallMs?: number | undefined;
  /** A proxy in front speaks for many callers. */
  readonly isTrustedProxy?: ((address: string) => boolean) | undefined;
}

/**
 * A listening HTTP server that answers in the envelope even where no route is reached: before the service is
 * ready, and when the parser refuses what came. It keeps every connection within its bounds.
 */
export class Listener {
  readonly server: Server;
  readonly load: LoadShedder;
  #requests: RequestListener = respondStarting;
  readonly #turns = new ConnectionTurns((request, response, isExcess) => {
    this.load.addRequest(request, response, isExcess);
    this.#requests(request, response);
  });
  readonly #slow: SlowConnections;

  private constructor({ bounds = {}, responseStallMs, isTrustedProxy = () => false }: ListenerOptions) {
    this.#slow = new SlowConnections({
      turns: this.#turns,
      responseStallMs,
      rejectSlowBody: (socket) => this.#refuse(socket, new ServiceError('request_timeout')),
    });
    this.load = new LoadShedder({
      bounds,
      addressOf: ({ remoteAddress = '' }) => countedAddress(remoteAddress),
      isTrusted: isTrustedProxy,
      waitingBytes: () => this.#slow.waitingBytes,
    });
    this.server = createServer(
      {
        maxHeaderSize: requestHeaderBytesMax,
        headersTimeout: headersArrivalMsMax,
        requestTimeout: requestArrivalMsMax,
        connectionsCheckingInterval: connectionsCheckMs,
        keepAliveTimeout: keepAliveMs,
        // The parser would answer without the envelope; the access check refuses a missing Host instead.
        requireHostHeader: false,
      },
      (request, response) => this.#turns.add(request, response),
    );
    // Node drops headers beyond a count without a word; their bytes are bounded as it is.
    this.server.maxHeadersCount = 0;
    this.server.on('connection', (socket) => this.#connect(socket));
    this.server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
      if (!socket.writable || error.code === 'ECONNRESET') socket.destroy();
      else this.#refuse(socket as Socket, refusalOfParserError(error.code));
    });
    this.server.on('checkExpectation', answerExpectation);
    this.server.on('connect', (_request, socket) => this.#refuse(socket as Socket, refusalOfConnect()));
  }

  #connect(socket: Socket): void {
    // Node takes its own handler from a socket that leaves the parser (CONNECT); without one a reset ends the process.
    socket.on('error', () => undefined);
    // Asked for now, the address is known also when the peer has gone.
    if (socket.remoteAddress === undefined) socket.destroy();
    else this.load.addConnection(socket);
  }

  /** Rejects with what listening rejects with, for instance EADDRINUSE. */
  static async listen(options: ListenerOptions): Promise<Listener> {
    const { host, port, reusePort = false } = options;
    const listener = new Listener(options);
    await new Promise<void>((resolve, reject) => {
      listener.server.once('error', reject);
      listener.server.listen({ port, host, reusePort }, resolve);
    });
    return listener;
  }

  /** `http://host:port`, as a client on this machine reaches it. */
  get origin(): string {
    const { address, family, port } = this.server.address() as AddressInfo;
    return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
  }

  /**
   * Answers what did not become a request. While whole requests of the same connection are still to be answered,
   * nothing may come before those answers or be taken for one: then the connection ends with the last of them.
   */
  #refuse(socket: Socket, refusal: ServiceError): void {
    const unfinished = this.#turns.unfinished(socket);
    const last = unfinished.findLast(({ req }) => req.complete);
    if (last !== undefined) last.once('close', () => socket.destroySoon());
    // An answer that has begun before its request had come to an end: nothing may stand within it.
    else if (unfinished.some(({ headersSent }) => headersSent)) socket.destroy();
    else answerByHand(socket, refusal);
  }

  /** From now on requests go to the service. */
  serve(requests: RequestListener): void {
    this.#requests = requests;
  }

  /** Accepts nothing new, lets running requests finish within the grace period, then ends what is left. */
  async stop(): Promise<void> {
    this.load.close();
    if (!this.server.listening) return;
    const stopped = new Promise<void>((resolve) => {
      this.server.close(() => resolve());
    });
    const sweep = setInterval(() => this.server.closeIdleConnections(), idleSweepMs);
    const grace = new AbortController();
    const outOfTime = sleep(stopGraceMs, undefined, { signal: grace.signal }).catch(() => undefined);
    await Promise.race([stopped, outOfTime]);
    grace.abort();
    clearInterval(sweep);
    this.server.closeAllConnections();
    this.#slow.close();
    await stopped;
  }
}

function answerExpectation(_request: IncomingMessage, response: ServerResponse): void {
  const error = new ServiceError('invalid_request', {
    param: 'Expect',
    message: 'The only expectation this service meets is "Expect: 100-continue".',
  });
  const text = JSON.stringify(failure(error, newRequestId()));
  response.writeHead(error.status, {
    ...errorHeaders,
    'content-type': jsonContentType,
    connection: 'close',
  });
  response.end(text);
}

/** What did not become a request: no response object exists, so that the answer is written by hand. */
function answerByHand(socket: Socket, refusal: ServiceError): void {
  const text = JSON.stringify(failure(refusal, newRequestId()));
  const headers = {
    ...errorHeaders,
    'content-type': jsonContentType,
    'content-length': String(Buffer.byteLength(text)),
    connection: 'close',
    ...refusal.details.headers,
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}\r\n${lines.join('')}\r\n${text}`);
}

function refusalOfConnect(): ServiceError {
  return new ServiceError('method_not_allowed', {
    message: 'This service is no proxy.',
    headers: { allow: '' },
  });
}

function refusalOfParserError(code: string | undefined): ServiceError {
  if (code === 'HPE_HEADER_OVERFLOW') return new ServiceError('headers_too_large');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new ServiceError('request_timeout');
  return new ServiceError('invalid_request', { message: 'This is not a well-formed HTTP/1.1 request.' });
}
